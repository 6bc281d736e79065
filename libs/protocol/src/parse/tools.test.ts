import { describe, expect, it } from '@jest/globals';
import { ApiError } from '../errors.js';
import { parseTools, toolListsValidated } from './tools.js';

const parameters = { type: 'object', properties: { z: { type: 'string' }, a: { type: 'string' } } };
const shell = { type: 'function', name: 'shell', parameters };
const patch = {
  type: 'custom',
  name: 'apply_patch',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' },
};

function canonical(tools: unknown): unknown {
  return JSON.parse(JSON.stringify(parseTools(tools, 'tools').tools));
}

function errorOf(tools: unknown): ApiError {
  try {
    parseTools(tools, 'tools');
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
  throw new Error('the tools were taken');
}

describe('parseTools', () => {
  it.each([undefined, null, []])('takes %j as no tools', (tools) => {
    expect(parseTools(tools, 'tools')).toEqual({ tools: [], key: '[]' });
  });

  it('takes tools the client runs, in their canonical form', () => {
    const tools = [shell, patch, { type: 'namespace', name: 'mcp__x', tools: [shell, patch] }];
    expect(canonical(tools)).toEqual(tools);
    const withNulls = [
      { ...shell, description: null, strict: null, defer_loading: null, output_schema: null },
      { ...patch, description: null },
      { type: 'namespace', name: 'mcp__x', description: null, tools: [{ ...shell, strict: null }, patch] },
    ];
    expect(canonical(withNulls)).toEqual(tools);
    expect(canonical([{ type: 'function', name: 'f', parameters: null }])).toEqual([
      { type: 'function', name: 'f' },
    ]);
    expect(canonical([{ type: 'custom', name: 'f', format: { type: 'text' } }])).toEqual([
      { type: 'custom', name: 'f', format: { type: 'text' } },
    ]);
  });

  it.each([
    [{ ...shell, defer_loading: true, async: true, output_schema: {}, allowed_callers: ['direct'] }],
    [{ ...patch, defer_loading: true, async: false, allowed_callers: ['programmatic'] }],
    [{ type: 'namespace', name: 'n', defer_loading: true, tools: [{ type: 'mcp', server_label: 's' }] }],
    [{ type: 'tool_search', execution: 'client', description: 'd', parameters }],
    [{ type: 'tool_search' }],
  ])('keeps the fields of %j', (tool) => {
    expect(canonical([tool])).toEqual([tool]);
  });

  it("keeps a schema's keys in the client's order", () => {
    expect(JSON.stringify(parseTools([shell], 'tools').tools)).toContain(JSON.stringify(parameters));
  });

  it('takes tools it does not host as they are', () => {
    const hosted = [
      { type: 'web_search', external_web_access: false, filters: null },
      { type: 'image_generation' },
      { type: 'mcp', server_label: 'x', headers: { a: 'b' } },
      { type: 'tool_of_next_year', name: 5 },
      { type: 'constructor' },
    ];
    expect(canonical(hosted)).toEqual(hosted);
  });

  it.each<[string, unknown, string, string]>([
    ['tools that are an object', {}, 'invalid_type', 'tools'],
    ['tools that are a string', 'shell', 'invalid_type', 'tools'],
    ['a tool that is a string', ['shell'], 'invalid_type', 'tools[0]'],
    ['a tool that is null', [shell, null], 'invalid_type', 'tools[1]'],
    ['a tool without type', [{ name: 'f' }], 'missing_required_parameter', 'tools[0].type'],
    ['a type of another type', [{ type: 5 }], 'invalid_type', 'tools[0].type'],
    ['a function without name', [{ type: 'function' }], 'missing_required_parameter', 'tools[0].name'],
    [
      'the shape of chat completions',
      [{ type: 'function', function: { name: 'f' } }],
      'missing_required_parameter',
      'tools[0].name',
    ],
    ['an empty name', [{ type: 'function', name: '' }], 'invalid_value', 'tools[0].name'],
    ['a name with blanks', [shell, { type: 'custom', name: 'a b' }], 'invalid_value', 'tools[1].name'],
    [
      'a name that is too long',
      [{ type: 'function', name: 'n'.repeat(129) }],
      'invalid_value',
      'tools[0].name',
    ],
    ['parameters that are a string', [{ ...shell, parameters: '{}' }], 'invalid_type', 'tools[0].parameters'],
    ['strict of another type', [{ ...shell, strict: 'yes' }], 'invalid_type', 'tools[0].strict'],
    [
      'a format without type',
      [{ ...patch, format: {} }],
      'missing_required_parameter',
      'tools[0].format.type',
    ],
    ['an unknown format', [{ ...patch, format: { type: 'xml' } }], 'invalid_value', 'tools[0].format.type'],
    [
      'an unknown syntax',
      [{ ...patch, format: { ...patch.format, syntax: 'ebnf' } }],
      'invalid_value',
      'tools[0].format.syntax',
    ],
    [
      'a namespace without tools',
      [{ type: 'namespace', name: 'n' }],
      'missing_required_parameter',
      'tools[0].tools',
    ],
    [
      'a namespaced tool without name',
      [shell, { type: 'namespace', name: 'n', tools: [shell, { type: 'function' }] }],
      'missing_required_parameter',
      'tools[1].tools[1].name',
    ],
    [
      'a namespace whose tools are no list',
      [{ type: 'namespace', name: 'n', tools: {} }],
      'invalid_type',
      'tools[0].tools',
    ],
    [
      'a namespaced tool that is a string',
      [{ type: 'namespace', name: 'n', tools: ['f'] }],
      'invalid_type',
      'tools[0].tools[0]',
    ],
    [
      'a search that nobody can run',
      [{ type: 'tool_search', execution: 'both' }],
      'invalid_value',
      'tools[0].execution',
    ],
    [
      'a search with parameters of another type',
      [{ type: 'tool_search', parameters: 'query' }],
      'invalid_type',
      'tools[0].parameters',
    ],
    [
      'a tool that is deferred by a word',
      [{ ...shell, defer_loading: 'yes' }],
      'invalid_type',
      'tools[0].defer_loading',
    ],
    [
      'a namespace in a namespace',
      [{ type: 'namespace', name: 'n', tools: [{ type: 'namespace', name: 'm', tools: [] }] }],
      'invalid_value',
      'tools[0].tools[0].type',
    ],
  ])('refuses %s by name', (_, tools, code, param) => {
    expect(errorOf(tools).body).toMatchObject({ code, param });
    expect(errorOf(tools).message).toContain(`'${param}'`);
  });
});

describe('tool list memory', () => {
  it('validates a list once, however often it comes', () => {
    const list = () => [{ ...shell, name: 'once' }, { type: 'web_search' }];
    const before = toolListsValidated();
    const first = parseTools(list(), 'tools');
    for (let turn = 0; turn < 20; turn++) {
      const again = parseTools(list(), 'tools');
      expect(again.tools).toBe(first.tools);
      expect(again.key).toBe(first.key);
    }
    expect(toolListsValidated() - before).toBe(1);
  });

  it('tells lists apart by anything in them', () => {
    const before = toolListsValidated();
    const variants = [
      [{ ...shell, name: 'apart' }],
      [{ ...shell, name: 'apart', description: 'd' }],
      [
        { ...shell, name: 'apart' },
        { ...shell, name: 'apart2' },
      ],
      [
        { ...shell, name: 'apart2' },
        { ...shell, name: 'apart' },
      ],
    ];
    const keys = variants.map((tools) => parseTools(tools, 'tools').key);
    expect(new Set(keys).size).toBe(variants.length);
    expect(toolListsValidated() - before).toBe(variants.length);
  });

  it('does not remember a list that was refused', () => {
    const bad = [{ type: 'function', name: 'not allowed' }];
    expect(errorOf(bad).param).toBe('tools[0].name');
    expect(errorOf(bad).param).toBe('tools[0].name');
  });

  it('is bounded: old lists make room, and a huge one never enters', () => {
    const list = (index: number, characters: number) => [
      { ...shell, name: `bounded_${index}`, description: 'd'.repeat(characters) },
    ];
    const MIB = 1024 * 1024;
    parseTools(list(0, 3 * MIB), 'tools');
    for (let index = 1; index <= 5; index++) parseTools(list(index, 3 * MIB), 'tools');
    let before = toolListsValidated();
    parseTools(list(5, 3 * MIB), 'tools');
    expect(toolListsValidated() - before).toBe(0);
    parseTools(list(0, 3 * MIB), 'tools');
    expect(toolListsValidated() - before).toBe(1);

    before = toolListsValidated();
    parseTools(list(9, 5 * MIB), 'tools');
    parseTools(list(9, 5 * MIB), 'tools');
    expect(toolListsValidated() - before).toBe(2);
  });
});

describe('very many tools', () => {
  const tools = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ type: 'function', name: `f${index}` }));

  it('are refused, those inside namespaces included, before any of them is read', () => {
    expect(parseTools(tools(4_096), 'tools').tools).toHaveLength(4_096);
    expect(() => parseTools(tools(4_097), 'tools')).toThrow(
      "Invalid value for 'tools': more than 4096 tools.",
    );
    const namespace = { type: 'namespace', name: 'n', tools: tools(4_096) };
    expect(() => parseTools([namespace], 'tools')).toThrow('more than 4096 tools');
  });
});
