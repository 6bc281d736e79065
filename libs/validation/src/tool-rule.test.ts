import { describe, expect, it } from '@jest/globals';
import { parseRequest, type Tool } from '@turnpike/protocol';
import { toolRule, type ToolRule } from './tool-rule.js';

const shell = { type: 'function', name: 'shell' } as const;
const patch = { type: 'custom', name: 'patch' } as const;
const read = { type: 'function', name: 'read', namespace: 'files' } as const;
const write = { type: 'custom', name: 'write', namespace: 'files' } as const;
const namespace = {
  type: 'namespace',
  name: 'files',
  tools: [
    { type: 'function', name: 'read' },
    { type: 'custom', name: 'write' },
  ],
};
const tools = [shell, patch, namespace, { type: 'web_search' }];

function rule(fields: Record<string, unknown>, added: readonly Tool[] = []): ToolRule {
  return toolRule(parseRequest({ model: 'm', tools, ...fields }, 'http'), added);
}

describe('toolRule', () => {
  it.each<[string, unknown, Pick<ToolRule, 'required' | 'allowed'>]>([
    ['auto allows any name: the client answers a wrong one', 'auto', { required: false, allowed: 'any' }],
    ['none allows none', 'none', { required: false, allowed: [] }],
    [
      'required wants one that is declared',
      'required',
      { required: true, allowed: [shell, patch, read, write] },
    ],
    ['a function', shell, { required: true, allowed: [shell] }],
    ['a custom tool', patch, { required: true, allowed: [patch] }],
    ['a tool inside a namespace', { type: 'function', name: 'read' }, { required: true, allowed: [read] }],
    [
      'a namespace names all of it',
      { type: 'namespace', name: 'files' },
      { required: true, allowed: [read, write] },
    ],
    [
      'allowed tools',
      { type: 'allowed_tools', mode: 'auto', tools: [patch, { type: 'custom', name: 'write' }] },
      { required: false, allowed: [patch, write] },
    ],
    [
      'allowed tools, one of which must be called',
      { type: 'allowed_tools', mode: 'required', tools: [shell] },
      { required: true, allowed: [shell] },
    ],
    [
      'no tool is allowed',
      { type: 'allowed_tools', mode: 'auto', tools: [] },
      { required: false, allowed: [] },
    ],
  ])('%s', (_name, choice, expected) => {
    expect(rule({ tool_choice: choice })).toMatchObject(expected);
  });

  it('knows the search of the client as a tool, and none of what is to be searched for', () => {
    const search = { type: 'tool_search', name: 'tool_search' };
    const searched = [
      { type: 'tool_search', execution: 'client' },
      { ...patch, defer_loading: true },
    ];
    const choose = (tool_choice: unknown) => rule({ tools: [...searched, shell], tool_choice });
    expect(choose({ type: 'tool_search' })).toMatchObject({ required: true, allowed: [search] });
    expect(choose('required').allowed).toEqual([search, shell]);
    const allowed = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'tool_search' }, shell] };
    expect(choose(allowed)).toMatchObject({ required: false, allowed: [search, shell] });
  });

  it('takes a bare name for the tool outside of namespaces where both have it', () => {
    const both = [{ type: 'function', name: 'read' }, ...tools];
    const bare = [{ type: 'function', name: 'read' }];
    for (const [choice, allowed] of [
      [bare[0], bare],
      [{ type: 'allowed_tools', mode: 'auto', tools: bare }, bare],
      [{ type: 'allowed_tools', mode: 'auto', tools: [{ type: 'namespace', name: 'files' }] }, [read, write]],
    ] as const) {
      const expected = { allowed: allowed.map((tool) => expect.objectContaining(tool)) };
      expect(rule({ tools: both, tool_choice: choice })).toMatchObject(expected);
    }
  });

  it('takes a name with a namespace for the tool in there and no other', () => {
    const other = { ...namespace, name: 'disks' };
    const both = [...tools, { type: 'function', name: 'read' }, other];
    const named = { type: 'function', name: 'read', namespace: 'disks' };
    for (const choice of [named, { type: 'allowed_tools', mode: 'required', tools: [named] }]) {
      expect(rule({ tools: both, tool_choice: choice }).allowed).toEqual([named]);
    }
  });

  it('allows nothing where no tool is declared, and counts tools that joined as items', () => {
    expect(rule({ tools: [] }).allowed).toEqual([]);
    expect(rule({ tools: [{ type: 'web_search' }] }).allowed).toEqual([]);
    expect(rule({ tools: [] }, [shell]).allowed).toBe('any');
    expect(rule({ tools: [], tool_choice: 'required' }, [shell]).allowed).toEqual([shell]);
  });

  it.each([
    [{}, Infinity],
    [{ parallel_tool_calls: false }, 1],
    [{ max_tool_calls: 2 }, 2],
    [{ parallel_tool_calls: false, max_tool_calls: 2 }, 1],
  ])('limits the calls: %j', (fields, most) => {
    expect(rule(fields).maxCalls).toBe(most);
  });
});
