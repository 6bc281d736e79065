import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parametersTextOf, parseJson, parseTools, type Tool } from '../index.js';

/** How the parameters of each tool are remembered to have been written; undefined where their values tell it. */
function textsOf(body: string): (string | undefined)[] {
  const { tools } = parseTools((parseJson(body) as { tools: unknown }).tools, 'tools');
  const textOf = (tool: Tool): (string | undefined)[] => {
    if ('tools' in tool && Array.isArray(tool.tools)) return (tool.tools as Tool[]).flatMap(textOf);
    return ['parameters' in tool && tool.parameters ? parametersTextOf(tool.parameters) : undefined];
  };
  return tools.flatMap(textOf);
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
