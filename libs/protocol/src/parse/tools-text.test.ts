import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  jsonOf,
  parametersTextOf,
  parseInput,
  parseJson,
  parseStored,
  parseTools,
  type Item,
  type Tool,
} from '../index.js';

/** How the parameters of each tool are remembered to have been written; undefined where their values tell it. */
function textsOf(body: string): (string | undefined)[] {
  return parseTools((parseJson(body) as { tools: unknown }).tools, 'tools').tools.flatMap(textOf);
}

function textOf(tool: Tool): (string | undefined)[] {
  if ('tools' in tool && Array.isArray(tool.tools)) return (tool.tools as Tool[]).flatMap(textOf);
  return ['parameters' in tool && tool.parameters ? parametersTextOf(tool.parameters) : undefined];
}

const tool = (parameters: string, name = 'f') =>
  `{"type":"function", "name":"${name}", "parameters": ${parameters} ,"description":"d"}`;

describe('the text of tools', () => {
  it.each([
    '{"default":1.0}',
    '{"default":100.0}',
    '{"minimum":1e-7}',
    '{"maximum":12345678901234567890}',
    '{"default":-0}',
    '{"default":-0.0}',
    '{"properties":{"2":{},"1":{}}}',
    '{ "x" : [ "a]}\\"" , { "tools" : 0.50 } ] }',
  ])('is kept where JSON.parse would lose some of it: %s', (parameters) => {
    expect(textsOf(`{"tools":[${tool('{"type":"object"}', 'g')},${tool(parameters)}],"input":"x"}`)[1]).toBe(
      parameters,
    );
  });

  it('is not kept where nothing is lost, whatever the rest of the request has', () => {
    expect(
      textsOf(`{"temperature":0.70,"tools":[${tool('{"maximum":42,"minimum":-7}')}],"top_p":1.0}`),
    ).toEqual([undefined]);
  });

  it('is found in namespaces, and in the last of two lists', () => {
    const namespace = `{"type":"namespace","name":"n","tools":[${tool('{"a":1.0}')}, ${tool('{"b":2.0}', 'g')}]}`;
    expect(textsOf(`{"tools":[${tool('{"c":3.0}')}],"user":"tools" , "tools" : [ ${namespace} ]}`)).toEqual([
      '{"a":1.0}',
      '{"b":2.0}',
    ]);
  });

  it('makes lists two that are written in two ways', () => {
    const texts = ['1', '1.0', '1.00'].map((number) => textsOf(`{"tools":[${tool(`{"k":${number}}`)}]}`)[0]);
    expect(texts).toEqual([undefined, '{"k":1.0}', '{"k":1.00}']);
  });

  it('is that of the parameters in any list, or none', () => {
    fc.assert(
      fc.property(fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 5 }), (all) => {
        const written = all.map((parameters) => JSON.stringify(parameters, null, 1));
        const body = `{"a":["tools",1.5], "tools":[${written.map((each, n) => tool(each, `f${n}`)).join(' , ')}]}`;
        textsOf(body).forEach((text, n) => {
          if (text !== undefined) expect(JSON.parse(text)).toEqual(JSON.parse(written[n] ?? ''));
        });
      }),
    );
  });
});

describe('the text of tools in items', () => {
  const input = (body: string): Item[] => parseInput((parseJson(body) as { input: unknown }).input);
  const textsIn = (items: readonly unknown[]): (string | undefined)[] =>
    items.flatMap((item) => (item as { tools?: Tool[] }).tools ?? []).flatMap(textOf);
  const said = '{"type":"message","role":"user","content":"\\"tools\\":[1.0]"}';
  const added = (...tools: string[]) =>
    `{"type":"additional_tools","role":"developer","tools":[${tools.join(' , ')}]}`;
  const found = (...tools: string[]) =>
    `{ "tools" :[${tools.join()}],"type":"tool_search_output","execution":"client","call_id":"c","status":"completed"}`;
  const namespace = `{"type":"namespace","name":"n","tools":[${tool('{"b":-0.0}', 'h')}]}`;
  const body =
    `{"tools":[${tool('{"z":9}')}], "input" : [ ${said}, ${added(tool('{"2":1.0,"1":12345678901234567890}'), tool('{"a":1}', 'g'))},` +
    `${found(namespace)} ],"metadata":{"tools":"x"}}`;
  const texts = ['{"2":1.0,"1":12345678901234567890}', '{"a":1}', '{"b":-0.0}'];

  it('is kept as that of the tools of a request', () => {
    expect(textsIn(input(body))).toEqual(texts);
    expect(textsIn(input(body.replaceAll('"tools"', '\n"tools"\t')))).toEqual(texts);
  });

  it('is not kept where nothing is lost', () => {
    const plain = `{"top_p":1.0,"tools":[${tool('{"2":1.0}')}],"input":[${said},${added(tool('{"a":12}'))}],"x":[{"y":0.5}]}`;
    expect(textsIn(input(plain))).toEqual([undefined]);
  });

  it('comes back from a store with each item, and with items of an object', () => {
    const items = input(body);
    expect(textsIn(items.map((item) => parseStored(jsonOf(item))))).toEqual(texts);
    const whole = parseStored(jsonOf({ replaces: true, items })) as { items: unknown[] };
    expect(textsIn(whole.items)).toEqual(texts);
    expect(jsonOf(items[0] as Item)).toBe(JSON.stringify(items[0]));
  });

  it('comes back from a request that waited as JSON', () => {
    const first = body.replace('{"z":9}', '{"z":9.0}');
    const waiting = jsonOf({ ...(parseJson(first) as object), input: input(first) });
    expect(JSON.parse(waiting)).toEqual({ ...(JSON.parse(first) as object), input: input(first) });
    expect(textsOf(waiting)).toEqual(['{"z":9.0}']);
    expect(textsIn(input(waiting))).toEqual(texts);
  });

  it('is that of the parameters in any item, whatever else there is', () => {
    const parameters = fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value));
    const item = fc.oneof(
      fc.constant(said),
      fc
        .array(parameters, { maxLength: 3 })
        .map((all) => added(...all.map((each, n) => tool(each, `f${n}`)))),
    );
    fc.assert(
      fc.property(fc.array(item, { maxLength: 4 }), fc.jsonValue(), (all, other) => {
        const items = input(`{"other":${JSON.stringify(other)},"input":[${all.join(' , ')}]}`);
        const back = items.map((each) => parseStored(jsonOf(each)));
        expect(JSON.parse(JSON.stringify(back))).toEqual(JSON.parse(JSON.stringify(items)));
        for (const known of [items, back]) {
          const written = textsIn(known);
          const values = known.flatMap(
            (each) => (each as { tools?: { parameters?: unknown }[] }).tools ?? [],
          );
          written.forEach((text, n) => {
            if (text !== undefined) expect(JSON.parse(text)).toEqual(values[n]?.parameters);
          });
        }
      }),
    );
  });
});
