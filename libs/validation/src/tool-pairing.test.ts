import { describe, expect, it } from '@jest/globals';
import { ApiError, parseInput } from '@turnpike/protocol';
import { foldCalls, requireAnswered, type WaitingCalls } from './tool-pairing.js';

const call = (id: string, status?: string) => ({
  type: 'function_call',
  call_id: id,
  name: 'f',
  arguments: '{}',
  status,
});
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: '1' });
const custom = (id: string) => ({ type: 'custom_tool_call', call_id: id, name: 'f', input: 'x' });
const customOutput = (id: string) => ({ type: 'custom_tool_call_output', call_id: id, output: '1' });
const user = { role: 'user', content: 'never mind' };

const server = { call_id: null, execution: 'server' };
const search = { type: 'tool_search_call', call_id: 'c1', execution: 'client', arguments: {} };
const found = { type: 'tool_search_output', call_id: 'c1', execution: 'client', tools: [] };
const shell = { type: 'shell_call', call_id: 'c1', action: { commands: [] } };
const shellOutput = { type: 'shell_call_output', call_id: 'c1', output: [] };
const localShell = { type: 'local_shell_call', call_id: 'c1', action: { command: [] } };
const localShellOutput = { type: 'local_shell_call_output', id: 'c1', output: '' };
const patch = { type: 'apply_patch_call', call_id: 'c1', operation: { type: 'delete_file', path: 'a' } };
const patchOutput = { type: 'apply_patch_call_output', call_id: 'c1', status: 'completed' };
const computer = { type: 'computer_call', call_id: 'c1' };
const computerOutput = {
  type: 'computer_call_output',
  call_id: 'c1',
  output: { type: 'computer_screenshot' },
};
const agent = { type: 'multi_agent_call', call_id: 'c1', action: 'spawn_agent', arguments: '{}' };
const agentOutput = { type: 'multi_agent_call_output', call_id: 'c1', output: [] };
const program = { type: 'program', call_id: 'c1', code: '' };
const programOutput = { type: 'program_output', call_id: 'c1', result: '' };
const approval = { type: 'mcp_approval_request', id: 'mcpr_1', server_label: 's', name: 'n', arguments: '' };
const approved = { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true };
const cut = (item: object) => ({ ...item, status: 'incomplete' });

/** Outputs without their calls, and how their errors speak of those. */
const ORPHANS: [{ type: string }, string][] = [
  [found, 'tool search call'],
  [shellOutput, 'shell call'],
  [localShellOutput, 'local shell call'],
  [patchOutput, 'apply patch call'],
  [computerOutput, 'computer call'],
  [agentOutput, 'multi-agent call'],
  [programOutput, 'program'],
];

function fold(items: unknown[], waiting: WaitingCalls = new Map()): WaitingCalls {
  return foldCalls(waiting, parseInput(items), 'input');
}

function errorOf(action: () => unknown): ApiError {
  try {
    action();
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
  throw new Error('nothing was thrown');
}

describe('foldCalls', () => {
  it.each<[string, unknown[], string[]]>([
    ['a call', [call('c1')], ['c1']],
    ['a call and its output', [call('c1'), output('c1')], []],
    [
      'parallel calls, answered in another order',
      [call('c1'), custom('c2'), customOutput('c2'), output('c1')],
      [],
    ],
    ['calls of which one is answered', [call('c1'), call('c2'), output('c1')], ['c2']],
    ['an output some items later', [call('c1'), user, { type: 'reasoning', summary: [] }, output('c1')], []],
    ['an id that is used again', [call('c1'), output('c1'), call('c1')], ['c1']],
    ['the same call twice, as after a replay', [call('c1'), call('c1'), output('c1')], []],
    ['a call that was cut short', [call('c1', 'incomplete')], []],
    ['a call of whatever other status', [call('c1', 'in_progress'), call('c2', 'completed')], ['c1', 'c2']],
    ['no calls', [user], []],
    ['a search by the client', [search, found], []],
    [
      'a search by the server, which has no id',
      [
        { ...search, ...server },
        { ...found, ...server },
      ],
      [],
    ],
    ['what a server found', [{ ...found, ...server }], []],
    ['a shell', [shell, shellOutput], []],
    ['a local shell', [localShell, localShellOutput], []],
    ['a local shell that is answered as a function', [localShell, output('c1')], []],
    ['a patch', [patch, patchOutput], []],
    ['a computer', [computer, computerOutput], []],
    ['an agent', [agent, agentOutput], []],
    ['a program', [program, programOutput], []],
    ['an approval', [approval, approved], []],
    ['calls that were cut short', [shell, localShell, search].map(cut), []],
  ])('%s', (_, items, waiting) => {
    expect([...fold(items).keys()]).toEqual(waiting);
  });

  it.each<[string, unknown[], string]>([
    [
      'an output without a call',
      [output('c9')],
      'No tool call found for function call output with call_id c9.',
    ],
    [
      'a custom output without a call',
      [customOutput('c9')],
      'No tool call found for custom tool call output with call_id c9.',
    ],
    [
      'an output of another kind',
      [call('c1'), customOutput('c1')],
      'No tool call found for custom tool call output with call_id c1.',
    ],
    [
      'an output before its call',
      [output('c1'), call('c1')],
      'No tool call found for function call output with call_id c1.',
    ],
    [
      'a second output',
      [call('c1'), output('c1'), output('c1')],
      'No tool call found for function call output with call_id c1.',
    ],
    [
      'an output for a call that was cut short',
      [call('c1', 'incomplete'), output('c1')],
      'No tool call found for function call output with call_id c1.',
    ],
    ...ORPHANS.map(([item, spoken]): [string, unknown[], string] => [
      `an orphan ${item.type}`,
      [item],
      `No tool call found for ${spoken} output with call_id c1.`,
    ]),
    ...ORPHANS.filter(([{ type }]) => type !== 'local_shell_call_output').map(
      ([item, spoken]): [string, unknown[], string] => [
        `a ${item.type} to a function call`,
        [call('c1'), item],
        `No tool call found for ${spoken} output with call_id c1.`,
      ],
    ),
    [
      'an approval of nothing',
      [approved],
      'No approval request found for MCP approval response with approval_request_id mcpr_1.',
    ],
    [
      'a second approval',
      [approval, approved, approved],
      'No approval request found for MCP approval response with approval_request_id mcpr_1.',
    ],
    [
      'the output of a shell to a local shell',
      [localShell, shellOutput],
      'No tool call found for shell call output with call_id c1.',
    ],
    [
      'an id that is text',
      [output('the secret plan')],
      'No tool call found for function call output with call_id (15 characters).',
    ],
  ])('refuses %s', (_, items, message) => {
    expect(errorOf(() => fold(items)).body).toEqual({
      type: 'invalid_request_error',
      code: 'tool_output_mismatch',
      message,
      param: 'input',
    });
  });

  it('sees calls of earlier turns, and changes nothing there', () => {
    const earlier = fold([call('c1'), custom('c2')]);
    expect([...fold([output('c1')], earlier).keys()]).toEqual(['c2']);
    expect([...fold([customOutput('c2'), call('c3')], earlier).keys()]).toEqual(['c1', 'c3']);
    expect([...earlier.keys()]).toEqual(['c1', 'c2']);
  });

  it('gives back the same calls where there is nothing new', () => {
    const earlier = fold([call('c1')]);
    expect(fold([user, call('c2', 'incomplete')], earlier)).toBe(earlier);
  });
});

describe('requireAnswered', () => {
  it.each([[[agent]], [[program]], [[approval]], [[{ ...search, ...server }]]])(
    'does not wait for what a server runs or asks: %j',
    (items) => {
      expect(() => requireAnswered(fold(items))).not.toThrow();
    },
  );

  it('is content when no call waits', () => {
    expect(() => requireAnswered(fold([call('c1'), output('c1')]))).not.toThrow();
  });

  it.each([
    [[call('c1'), user], 'No tool output found for function call c1.'],
    [[custom('c1')], 'No tool output found for custom tool call c1.'],
    [[call('c1'), call('c2'), call('c3'), output('c1')], 'No tool output found for function call c2.'],
    [[search], 'No tool output found for tool search call c1.'],
    [[shell], 'No tool output found for shell call c1.'],
    [[localShell], 'No tool output found for local shell call c1.'],
    [[patch], 'No tool output found for apply patch call c1.'],
    [[computer], 'No tool output found for computer call c1.'],
    [[approval, program, shell], 'No tool output found for shell call c1.'],
  ])('names the first of %j that waits', (items, message) => {
    expect(errorOf(() => requireAnswered(fold(items))).body).toEqual({
      type: 'invalid_request_error',
      code: 'tool_output_mismatch',
      message,
      param: 'input',
    });
  });
});
