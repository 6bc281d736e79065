import { describe, expect, it } from '@jest/globals';
import { ApiError } from '../errors.js';
import { parseInput, parseItem } from './items.js';
import { TOOL_ITEM_TYPES } from './tool-items.js';

type Json = Record<string, unknown>;

/** Every item as a client sends it, with what this server does not look at, and nulls where there is nothing. */
const ITEMS: Json[] = [
  {
    type: 'shell_call',
    id: 'sh_1',
    call_id: 'c1',
    status: 'completed',
    action: { commands: ['ls', 'pwd'], timeout_ms: 100, max_output_length: null },
    environment: { type: 'local' },
    caller: { type: 'direct' },
  },
  {
    type: 'shell_call_output',
    call_id: 'c1',
    output: [
      { stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 }, created_by: 'x' },
      { stdout: '', stderr: 'b', outcome: { type: 'timeout' } },
    ],
    max_output_length: 5,
  },
  {
    type: 'local_shell_call',
    id: 'lsh_1',
    call_id: 'c2',
    status: 'completed',
    action: { type: 'exec', command: ['ls'], env: { A: 'b' }, working_directory: null },
  },
  { type: 'local_shell_call_output', id: 'o', call_id: 'c2', output: '{"output":"a"}' },
  {
    type: 'apply_patch_call',
    call_id: 'c3',
    status: 'completed',
    operation: { type: 'update_file', path: 'a.txt', diff: '@@' },
  },
  { type: 'apply_patch_call_output', call_id: 'c3', status: 'failed', output: 'no such file' },
  {
    type: 'computer_call',
    id: 'cu_1',
    call_id: 'c4',
    status: 'completed',
    action: { type: 'click', x: 1, y: 2, button: 'left' },
    pending_safety_checks: [],
  },
  {
    type: 'computer_call_output',
    call_id: 'c4',
    output: { type: 'computer_screenshot', image_url: 'data:image/png;base64,AAAA' },
    acknowledged_safety_checks: null,
  },
  {
    type: 'web_search_call',
    id: 'ws_1',
    status: 'completed',
    action: { type: 'search', query: 'q', sources: [{ type: 'url', url: 'https://x' }] },
  },
  {
    type: 'file_search_call',
    id: 'fs_1',
    status: 'completed',
    queries: ['q'],
    results: [{ filename: 'a', text: 't', score: 0.5, attributes: null }],
  },
  {
    type: 'code_interpreter_call',
    id: 'ci_1',
    status: 'completed',
    container_id: 'cntr_1',
    code: '1+1',
    outputs: [
      { type: 'logs', logs: '2' },
      { type: 'image', url: 'data:,' },
    ],
  },
  {
    type: 'code_interpreter_call',
    id: 'ci_2',
    status: 'failed',
    container_id: 'x',
    code: null,
    outputs: null,
  },
  { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'AAAA', revised_prompt: 'a cat' },
  {
    type: 'mcp_list_tools',
    id: 'mcpl_1',
    server_label: 's',
    tools: [{ name: 't', input_schema: {} }],
    error: null,
  },
  {
    type: 'mcp_call',
    id: 'mcp_1',
    server_label: 's',
    name: 't',
    arguments: '{}',
    output: 'o',
    error: null,
    approval_request_id: 'mcpr_1',
  },
  { type: 'mcp_approval_request', id: 'mcpr_1', server_label: 's', name: 't', arguments: '{}' },
  { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: false, reason: 'no' },
  { type: 'program', id: 'p', call_id: 'c5', code: 'f()', fingerprint: 'x' },
  { type: 'program_output', id: 'po', call_id: 'c5', result: '1', status: 'completed' },
  {
    type: 'agent_message',
    author: 'root',
    recipient: 'worker',
    content: [
      { type: 'input_text', text: 'go' },
      { type: 'encrypted_content', encrypted_content: 'x' },
    ],
    agent: { agent_name: 'root' },
  },
  { type: 'multi_agent_call', call_id: 'c6', action: 'spawn_agent', arguments: '{}' },
  {
    type: 'multi_agent_call_output',
    call_id: 'c6',
    action: 'spawn_agent',
    output: [{ type: 'output_text', text: 'x', annotations: [] }],
  },
];

function errorOf(item: unknown): ApiError {
  try {
    parseInput([item]);
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
  throw new Error('the item was taken');
}

function itemOf(type: string): Json {
  const item = ITEMS.find((each) => each['type'] === type);
  if (item === undefined) throw new Error(`there is no ${type} among the items`);
  return item;
}

describe('items of tools other than functions', () => {
  it('are all here', () => {
    expect(new Set(ITEMS.map(({ type }) => type))).toEqual(new Set(TOOL_ITEM_TYPES));
  });

  it.each(ITEMS.map((item) => [item['type'], item] as const))('%s is kept as it was sent', (_, item) => {
    expect(JSON.stringify(parseItem(item, 'input[0]'))).toBe(JSON.stringify(item));
  });

  it('may leave an id or a status out in either way', () => {
    for (const item of ITEMS.filter(({ type }) => type !== 'mcp_approval_request')) {
      const { id: _id, ...rest } = item;
      const parsed = parseItem(
        { ...rest, call_id: rest['call_id'] ?? 'c', id: null, status: null },
        'input[0]',
      );
      expect(parsed).not.toHaveProperty('id', null);
      expect(parsed).not.toHaveProperty('status');
    }
  });

  it('take the id of a local shell output for that of its call, as its declared type has it', () => {
    const output = { type: 'local_shell_call_output', id: 'c2', output: '' };
    expect(parseItem(output, 'input[0]')).toEqual({ ...output, call_id: 'c2' });
  });

  it.each<[string, Json, string, string]>([
    ['shell_call', { call_id: null }, 'missing_required_parameter', 'call_id'],
    ['shell_call', { call_id: 5 }, 'invalid_type', 'call_id'],
    ['shell_call', { action: null }, 'missing_required_parameter', 'action'],
    ['shell_call', { action: { commands: 'ls' } }, 'invalid_type', 'action.commands'],
    ['shell_call', { action: { commands: ['ls', 5] } }, 'invalid_type', 'action.commands[1]'],
    ['shell_call', { status: 5 }, 'invalid_type', 'status'],
    ['shell_call', { id: {} }, 'invalid_type', 'id'],
    ['shell_call_output', { output: 'x' }, 'invalid_type', 'output'],
    ['shell_call_output', { output: [{ stdout: 'a' }] }, 'missing_required_parameter', 'output[0].stderr'],
    [
      'shell_call_output',
      { output: [{ stdout: '', stderr: '', outcome: { type: 'exit', exit_code: 'x' } }] },
      'invalid_type',
      'output[0].outcome.exit_code',
    ],
    [
      'shell_call_output',
      { output: [{ stdout: '', stderr: '', outcome: { type: 'gone' } }] },
      'invalid_value',
      'output[0].outcome.type',
    ],
    ['local_shell_call', { action: { command: 'ls' } }, 'invalid_type', 'action.command'],
    ['local_shell_call_output', { output: ['x'] }, 'invalid_type', 'output'],
    ['local_shell_call_output', { id: null, call_id: null }, 'missing_required_parameter', 'call_id'],
    ['apply_patch_call', { operation: 'x' }, 'invalid_type', 'operation'],
    ['apply_patch_call', { operation: { type: 'move_file' } }, 'invalid_value', 'operation.type'],
    [
      'apply_patch_call',
      { operation: { type: 'create_file', path: 'a' } },
      'missing_required_parameter',
      'operation.diff',
    ],
    ['apply_patch_call_output', { output: [] }, 'invalid_type', 'output'],
    ['computer_call', { action: [] }, 'invalid_type', 'action'],
    ['computer_call', { actions: {} }, 'invalid_type', 'actions'],
    ['computer_call', { actions: ['click'] }, 'invalid_type', 'actions[0]'],
    ['computer_call_output', { output: 'x' }, 'invalid_type', 'output'],
    ['computer_call_output', { output: { type: 'x', image_url: 5 } }, 'invalid_type', 'output.image_url'],
    ['web_search_call', { action: 'search' }, 'invalid_type', 'action'],
    ['web_search_call', { action: { queries: [5] } }, 'invalid_type', 'action.queries[0]'],
    ['web_search_call', { results: ['x'] }, 'invalid_type', 'results[0]'],
    ['file_search_call', { queries: 'q' }, 'invalid_type', 'queries'],
    ['file_search_call', { results: {} }, 'invalid_type', 'results'],
    ['code_interpreter_call', { code: 5 }, 'invalid_type', 'code'],
    ['code_interpreter_call', { outputs: [{ type: 'logs', logs: 5 }] }, 'invalid_type', 'outputs[0].logs'],
    ['image_generation_call', { result: {} }, 'invalid_type', 'result'],
    ['image_generation_call', { revised_prompt: 5 }, 'invalid_type', 'revised_prompt'],
    ['mcp_list_tools', { server_label: null }, 'missing_required_parameter', 'server_label'],
    ['mcp_list_tools', { tools: 'x' }, 'invalid_type', 'tools'],
    ['mcp_call', { name: '' }, 'invalid_value', 'name'],
    ['mcp_call', { arguments: {} }, 'invalid_type', 'arguments'],
    ['mcp_call', { output: {} }, 'invalid_type', 'output'],
    ['mcp_approval_request', { id: null }, 'missing_required_parameter', 'id'],
    ['mcp_approval_request', { arguments: {} }, 'invalid_type', 'arguments'],
    [
      'mcp_approval_response',
      { approval_request_id: null },
      'missing_required_parameter',
      'approval_request_id',
    ],
    ['mcp_approval_response', { approve: 'yes' }, 'invalid_type', 'approve'],
    ['program', { code: null }, 'missing_required_parameter', 'code'],
    ['program_output', { result: {} }, 'invalid_type', 'result'],
    ['agent_message', { author: 5 }, 'invalid_type', 'author'],
    ['agent_message', { content: 'x' }, 'invalid_type', 'content'],
    ['agent_message', { content: [{ type: 'input_text', text: 5 }] }, 'invalid_type', 'content[0].text'],
    ['multi_agent_call', { arguments: {} }, 'invalid_type', 'arguments'],
    ['multi_agent_call_output', { output: 'x' }, 'invalid_type', 'output'],
  ])('%s with %j is refused by the place', (type, fields, code, param) => {
    expect(errorOf({ ...itemOf(type), ...fields }).body).toMatchObject({ code, param: `input[0].${param}` });
  });
});

const SEARCH = {
  type: 'tool_search_call',
  id: 'tsc_1',
  call_id: 'c1',
  execution: 'client',
  arguments: { query: 'x' },
  status: 'completed',
};
const FOUND = {
  type: 'tool_search_output',
  call_id: 'c1',
  execution: 'client',
  status: 'completed',
  tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'f', defer_loading: true }] }],
};

describe('searches for tools', () => {
  it.each([[SEARCH], [FOUND], [{ ...SEARCH, execution: 'server', call_id: null, arguments: 'text' }]])(
    'are taken: %j',
    (item) => {
      expect(JSON.parse(JSON.stringify(parseItem(item, 'input[0]')))).toEqual(item);
    },
  );

  it.each([
    [
      { call_id: 'c1', execution: null },
      { call_id: 'c1', execution: 'client' },
    ],
    [
      { call_id: null, execution: null },
      { call_id: null, execution: 'server' },
    ],
    [
      { call_id: 'c1', execution: 'server' },
      { call_id: 'c1', execution: 'server' },
    ],
  ])('with %j are %j', (given, expected) => {
    for (const item of [SEARCH, FOUND]) {
      expect(parseItem({ ...item, ...given }, 'input[0]')).toMatchObject(expected);
    }
  });

  it('may be for nothing in particular', () => {
    expect(parseItem({ ...SEARCH, arguments: null }, 'input[0]')).toMatchObject({ arguments: {} });
  });

  it.each<[Json, string, string]>([
    [{ ...SEARCH, call_id: null }, 'missing_required_parameter', 'call_id'],
    [{ ...SEARCH, call_id: '' }, 'invalid_value', 'call_id'],
    [{ ...SEARCH, execution: 'both' }, 'invalid_value', 'execution'],
    [{ ...SEARCH, arguments: [] }, 'invalid_type', 'arguments'],
    [{ ...SEARCH, arguments: 5 }, 'invalid_type', 'arguments'],
    [{ ...SEARCH, status: 'done' }, 'invalid_value', 'status'],
    [{ ...FOUND, call_id: 5 }, 'invalid_type', 'call_id'],
    [{ ...FOUND, tools: {} }, 'invalid_type', 'tools'],
    [{ ...FOUND, tools: [{ type: 'function' }] }, 'missing_required_parameter', 'tools[0].name'],
    [
      { ...FOUND, tools: [{ type: 'namespace', name: 'n', tools: [{ type: 'function', name: 5 }] }] },
      'invalid_type',
      'tools[0].tools[0].name',
    ],
  ])('%j is refused by the place', (item, code, param) => {
    expect(errorOf(item).body).toMatchObject({ code, param: `input[0].${param}` });
  });
});

describe('configuration updates', () => {
  const schema = { type: 'json_schema', name: 'a', schema: { type: 'object' } };

  it.each<[Json]>([
    [{ reasoning: { effort: 'high' } }],
    [{ text: { format: schema } }],
    [
      {
        id: 'cfg_1',
        reasoning: { effort: 'low', later: 1 },
        text: { format: { type: 'text' }, verbosity: 'low' },
      },
    ],
    [{}],
  ])('are taken: %j', (fields) => {
    const item = { type: 'configuration_update', ...fields };
    expect(JSON.parse(JSON.stringify(parseItem(item, 'input[0]')))).toEqual(item);
  });

  it('take nulls for absence', () => {
    const nulls = { id: null, reasoning: { effort: null }, text: { format: null } };
    expect(parseItem({ type: 'configuration_update', ...nulls }, 'input[0]')).toEqual({
      type: 'configuration_update',
      reasoning: {},
      text: {},
    });
    expect(parseItem({ type: 'configuration_update', reasoning: null, text: null }, 'input[0]')).toEqual({
      type: 'configuration_update',
    });
  });

  it.each<[Json, string, string]>([
    [{ reasoning: 'high' }, 'invalid_type', 'reasoning'],
    [{ reasoning: { effort: 'much' } }, 'invalid_value', 'reasoning.effort'],
    [{ text: [] }, 'invalid_type', 'text'],
    [{ text: { format: { type: 'xml' } } }, 'invalid_value', 'text.format.type'],
    [{ text: { format: { ...schema, name: null } } }, 'missing_required_parameter', 'text.format.name'],
    [{ text: { format: { ...schema, schema: 5 } } }, 'invalid_type', 'text.format.schema'],
  ])('%j is refused by the place', (fields, code, param) => {
    expect(errorOf({ type: 'configuration_update', ...fields }).body).toMatchObject({
      code,
      param: `input[0].${param}`,
    });
  });
});
