import { describe, expect, it } from '@jest/globals';
import type { Tool } from './items.js';
import { droppedTypes, offeredTools } from './tools.js';

const search: Tool = { type: 'tool_search', execution: 'client', description: 'Finds tools.' };
const plain: Tool = { type: 'function', name: 'plain' };
const later: Tool = { type: 'function', name: 'later', description: 'Comes later.', defer_loading: true };
const custom: Tool = { type: 'custom', name: 'patch', defer_loading: true };
const half: Tool = {
  type: 'namespace',
  name: 'half',
  description: 'Half of it.',
  tools: [
    { type: 'function', name: 'now' },
    { type: 'function', name: 'then', description: 'secret', defer_loading: true },
  ],
};
const whole: Tool = {
  type: 'namespace',
  name: 'whole',
  tools: [{ type: 'function', name: 'then', defer_loading: true }],
};
const marked: Tool = {
  type: 'namespace',
  name: 'marked',
  tools: [{ type: 'function', name: 'x' }],
  defer_loading: true,
};
const deferred = [later, custom, half, whole, marked];

describe('offeredTools', () => {
  it('leaves out what is to be searched for, and names it with the search of the client', () => {
    const catalogue = [
      'Finds tools.',
      'What can be found:',
      '- later: Comes later.',
      '- patch',
      '- half: Half of it.',
      '- whole',
      '- marked',
    ].join('\n');
    expect(offeredTools([plain, ...deferred, search])).toEqual([
      plain,
      { ...half, tools: [{ type: 'function', name: 'now' }] },
      { ...search, description: catalogue },
    ]);
  });

  it.each<[string, Tool[]]>([
    ['no search', [plain, ...deferred]],
    ['a search by the server', [{ type: 'tool_search' }, ...deferred]],
    ['a search that says it is by the server', [{ type: 'tool_search', execution: 'server' }, ...deferred]],
    ['nothing to search for', [search, plain]],
  ])('is the list itself with %s', (_, tools) => {
    expect(offeredTools(tools)).toBe(tools);
  });
});

describe('droppedTypes', () => {
  it('names each type once that nobody here runs, those in namespaces too', () => {
    const hosted: Tool = { type: 'namespace', name: 'n', tools: [{ type: 'mcp', server_label: 's' }] };
    const tools: Tool[] = [plain, { type: 'web_search' }, hosted, { type: 'web_search', more: 1 }, search];
    expect(droppedTypes(tools, [{ type: 'shell' }], [{ type: 'tool_search' }, custom, half])).toEqual([
      'web_search',
      'mcp',
      'shell',
    ]);
    expect(droppedTypes([plain, custom, half, search])).toEqual([]);
  });

  it('repeats nothing that a client has made up', () => {
    const types = ['the secret plan', 'the_secret_plan', 'constructor', 'mcp'];
    expect(droppedTypes(types.map((type) => ({ type })))).toEqual(['undeclared', 'mcp']);
  });
});
