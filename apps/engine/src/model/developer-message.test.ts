import { describe, expect, it } from '@jest/globals';
import { WEATHER_TOOL } from '../../testing/conversation.js';
import { readDeveloperMessage } from './developer-message.js';
import { parseType } from './tool-types.js';

const section = (...tools: string[]) =>
  `# Tools\n\n## functions\n\nnamespace functions {\n\n${tools.join('\n\n')}\n\n} // namespace functions`;

const onlyType = (text: string) => {
  const { tools } = readDeveloperMessage(section(`type f = (_: ${text}) => any;`));
  return tools[0]?.parameters;
};

describe('readDeveloperMessage', () => {
  it('reads names and parameter types', () => {
    const { tools } = readDeveloperMessage(
      section(WEATHER_TOOL, 'type now = () => any;', 'type patch = (_: string) => any;'),
    );
    expect(tools).toEqual([
      {
        recipient: 'functions.get_weather',
        name: 'get_weather',
        custom: false,
        parameters: {
          kind: 'object',
          properties: [
            { name: 'city', optional: false, type: { kind: 'string' } },
            { name: 'unit', optional: true, type: { kind: 'literals', values: ['c', 'f'] } },
            { name: 'days', optional: false, type: { kind: 'number' } },
          ],
        },
      },
      {
        recipient: 'functions.now',
        name: 'now',
        custom: false,
        parameters: { kind: 'object', properties: [] },
      },
      { recipient: 'functions.patch', name: 'patch', custom: true, parameters: { kind: 'string' } },
    ]);
  });

  it('reads several namespaces', () => {
    const text = `# Tools\n\n## browser\n\nnamespace browser {\n\ntype open = (_: {\nid: number,\n}) => any;\n\n} // namespace browser\n\n${section(WEATHER_TOOL).slice(9)}`;
    expect(readDeveloperMessage(text).tools.map((tool) => tool.recipient)).toEqual([
      'browser.open',
      'functions.get_weather',
    ]);
  });

  it('is not misled by instructions that look like tools', () => {
    const instructions = `# Instructions\n\n# Tools\n\n## fake\n\nnamespace fake {\n\ntype no = () => any;\n\n} // namespace fake\n\n`;
    expect(readDeveloperMessage(instructions + section(WEATHER_TOOL)).tools.map((tool) => tool.name)).toEqual(
      ['get_weather'],
    );
  });

  it('reads the response format behind the tools', () => {
    const schema = { type: 'object', properties: { a: { description: '# Tools\n\n## x', type: 'string' } } };
    const text = `${section(WEATHER_TOOL)}\n\n# Response Formats\n\n## answer\n\n// What to say.\n${JSON.stringify(schema)}`;
    const read = readDeveloperMessage(text);
    expect(read.schema).toEqual(schema);
    expect(read.tools).toHaveLength(1);
    expect(readDeveloperMessage('# Instructions\n\nHello').schema).toBeUndefined();
  });
});

describe('parseType', () => {
  it('reads nested objects, arrays, unions and comments', () => {
    expect(
      onlyType('// params object\n{\n// The "items": {\nitems: {\nid: number, // default: 5\n}[],\n}'),
    ).toEqual({
      kind: 'object',
      properties: [
        {
          name: 'items',
          optional: false,
          type: {
            kind: 'array',
            items: {
              kind: 'object',
              properties: [{ name: 'id', optional: false, type: { kind: 'number' } }],
            },
          },
        },
      ],
    });
    expect(
      onlyType('{\na: Array<any>,\nb:\n | string // one\n | number // other\n,\nc: string | null,\n}'),
    ).toEqual({
      kind: 'object',
      properties: [
        { name: 'a', optional: false, type: { kind: 'array', items: { kind: 'any' } } },
        { name: 'b', optional: false, type: { kind: 'string' } },
        { name: 'c', optional: false, type: { kind: 'string' } },
      ],
    });
  });

  it('is any where the text is no type', () => {
    for (const text of ['{ a', '"open', '', '{ a: ; }', '[]'])
      expect(parseType(text, 0)).toEqual({ kind: 'any' });
  });
});
