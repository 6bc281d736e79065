import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { harmony } from '@turnpike/formats';
import { SocketClient, terminalOf, textOf, type WireItem } from './socket-client.js';
import { Stand } from './stand.js';

/** Items and tools that this server runs none of: taken, kept as they are, and shown to the model in words. */
let stand: Stand;
let socket: SocketClient;

beforeAll(async () => {
  stand = await Stand.start();
  socket = await SocketClient.connect(stand.url);
});
afterAll(async () => {
  socket.close();
  await stand.stop();
});

type Answer = { id: string; status: string; output: WireItem[]; turnpike?: unknown; error?: unknown };

async function post(body: Record<string, unknown>): Promise<Answer> {
  const answer = await fetch(`${stand.url}/v1/responses`, {
    method: 'POST',
    body: JSON.stringify({ model: 'sim', ...body }),
  });
  return (await answer.json()) as Answer;
}

function lastPrompt(): string {
  return harmony().tokenizer.decode(stand.prompts.at(-1) ?? []);
}

const BASE64 = 'QUJDREVGRw==';
const ITEMS = [
  { id: 'sh_1', type: 'shell_call', call_id: 'c1', action: { commands: ['ls'], timeout_ms: null } },
  {
    id: 'sho_1',
    type: 'shell_call_output',
    call_id: 'c1',
    output: [{ stdout: 'marmalade.txt', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
  },
  {
    id: 'lsh_1',
    type: 'local_shell_call',
    call_id: 'c2',
    action: { type: 'exec', command: ['pwd'], env: {} },
  },
  { id: 'lsho_1', type: 'local_shell_call_output', call_id: 'c2', output: '/home' },
  {
    id: 'ci_1',
    type: 'code_interpreter_call',
    status: 'completed',
    container_id: 'x',
    code: '1+1',
    outputs: null,
  },
  { id: 'ig_1', type: 'image_generation_call', status: 'completed', result: BASE64 },
  { id: 'mcp_1', type: 'mcp_call', server_label: 's', name: 'n', arguments: '{}', output: 'o', error: null },
  { id: 'cfg_1', type: 'configuration_update', reasoning: { effort: 'low' } },
];
const ASK = { role: 'user', content: 'go on [sim calls=0]' };

describe('items of tools that others run', () => {
  it('are listed as they were sent, and can be referred to', async () => {
    const first = await post({ input: [...ITEMS, ASK] });
    expect(first.status).toBe('completed');
    expect(lastPrompt()).toContain('marmalade.txt\n[exit code 0]');
    expect(lastPrompt()).toContain('Generated an image.');
    expect(lastPrompt()).not.toContain(BASE64);
    const listed = (await (
      await fetch(`${stand.url}/v1/responses/${first.id}/input_items?order=asc`)
    ).json()) as { data: unknown[] };
    expect(listed.data.slice(0, ITEMS.length)).toEqual(ITEMS);
    const prompt = lastPrompt();
    const referred = await post({ input: [...ITEMS.map(({ id }) => ({ type: 'item_reference', id })), ASK] });
    expect(referred.status).toBe('completed');
    expect(lastPrompt()).toBe(prompt);
  });

  it('get ids where they have none', async () => {
    const bare = ITEMS.map(({ id: _id, ...item }) => item);
    const { id } = await post({ input: [...bare, ASK] });
    const listed = (await (await fetch(`${stand.url}/v1/responses/${id}/input_items?order=asc`)).json()) as {
      data: WireItem[];
    };
    const prefixes = listed.data.map((item) => item.id?.split('_')[0]);
    expect(prefixes.slice(0, bare.length)).toEqual(['sh', 'sho', 'lsh', 'lsho', 'ci', 'ig', 'mcp', 'cfg']);
  });

  it.each([
    ['shell_call_output', { output: [] }, 'shell call output with call_id c9'],
    ['apply_patch_call_output', { status: 'completed' }, 'apply patch call output with call_id c9'],
    ['tool_search_output', { tools: [] }, 'tool search call output with call_id c9'],
    ['custom_tool_call_output', { output: '' }, 'custom tool call output with call_id c9'],
  ])('without their call are a 400, and the parent is gone: %s', async (type, fields, named) => {
    const { response } = terminalOf(await socket.create({ input: [ASK], store: false }));
    const continued = { previous_response_id: response.id, store: false };
    const [orphan] = await socket.create({ ...continued, input: [{ type, call_id: 'c9', ...fields }] });
    expect(orphan).toMatchObject({
      type: 'error',
      status: 400,
      error: { code: 'tool_output_mismatch', message: `No tool call found for ${named}.`, param: 'input' },
    });
    const [gone] = await socket.create({ ...continued, input: [ASK] });
    expect(gone?.error?.code).toBe('previous_response_not_found');
  });

  it('answer calls of earlier responses', async () => {
    const call = { type: 'apply_patch_call', call_id: 'p', operation: { type: 'delete_file', path: 'a' } };
    const warm = terminalOf(await socket.create({ input: [ASK, call], generate: false })).response;
    const events = await socket.create({
      input: [{ type: 'apply_patch_call_output', call_id: 'p', status: 'failed', output: 'a is gone' }],
      previous_response_id: warm.id,
    });
    expect(textOf(events)).toContain('The tool said: "Failed: a is gone"');
  });

  it('of a type that nobody has declared are a 400 that lists those there are', async () => {
    const { error } = await post({ input: [ASK, { type: 'telepathy_call' }] });
    expect(error).toMatchObject({ code: 'invalid_value', param: 'input[1].type' });
    expect((error as { message: string }).message).toContain("'mcp_approval_response'");
  });
});

describe('configuration_update', () => {
  const update = (fields: object) => ({ type: 'configuration_update', ...fields });
  const effort = () => /Reasoning: (\w+)/.exec(lastPrompt())?.[1];
  const format = { type: 'json_schema', name: 'answer', schema: { type: 'object', required: ['a'] } };

  it('holds from its response on, over both transports, and for one branch only', async () => {
    const request = { reasoning: { effort: 'low' } };
    const root = await post({ ...request, input: [ASK] });
    expect(effort()).toBe('low');
    const raised = await post({
      ...request,
      input: [update({ reasoning: { effort: 'high' } }), ASK],
      previous_response_id: root.id,
    });
    expect(effort()).toBe('high');
    await socket.create({ ...request, input: [ASK], previous_response_id: raised.id });
    expect(effort()).toBe('high');
    await socket.create({ ...request, input: [ASK], previous_response_id: root.id });
    expect(effort()).toBe('low');
  });

  it('makes answers follow a format, and lets them go again', async () => {
    const bound = await post({ input: [update({ text: { format } }), ASK] });
    expect(bound.status).toBe('completed');
    expect(JSON.parse(bound.output.at(-1)?.content?.[0]?.text ?? '')).toHaveProperty('a');
    const broken = await post({ input: 'x [sim badjson=1]', previous_response_id: bound.id });
    expect(broken).toMatchObject({ status: 'failed', error: { code: 'server_error' } });
    const free = await post({
      input: [update({ text: { format: { type: 'text' } } }), ASK],
      previous_response_id: bound.id,
    });
    expect(free.output.at(-1)?.content?.[0]?.text).toContain('You said');
  });
});

it('what items set, brought and left open is still known after a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-items-'));
  const store = [`store: { kind: sqlite, path: "${join(folder, 'turnpike.db')}" }`];
  const search = { type: 'tool_search', execution: 'client', parameters: { type: 'object', properties: {} } };
  const found = { type: 'function', name: 'lookup', defer_loading: true };
  const over = async (body: Record<string, unknown>) => {
    const app = await stand.gateway(store);
    const client = await SocketClient.connect(stand.url);
    const { response } = terminalOf(await client.create(body));
    client.close();
    await app.stop();
    return response;
  };
  const first = await over({
    tools: [search],
    input: [
      { type: 'configuration_update', reasoning: { effort: 'high' } },
      { role: 'user', content: 'Use lookup. [sim calls=2]' },
    ],
  });
  const call = first.output.find(({ type }) => type === 'tool_search_call');
  const second = await over({
    previous_response_id: first.id,
    input: [{ type: 'tool_search_output', call_id: call?.call_id, execution: 'client', tools: [found] }],
  });
  expect(lastPrompt()).toContain('Reasoning: high');
  const third = await over({
    previous_response_id: second.id,
    input: second.output
      .filter(({ type }) => type === 'function_call')
      .map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'found it' })),
    tool_choice: { type: 'function', name: 'lookup' },
  });
  expect(lastPrompt()).toContain('Reasoning: high');
  expect(third.output.map(({ type, name }) => name ?? type)).toContain('lookup');
  rmSync(folder, { recursive: true, force: true });
});

describe('tools that nobody here runs', () => {
  const lookup = {
    type: 'function',
    name: 'lookup',
    strict: null,
    output_schema: {},
    allowed_callers: ['direct'],
  };
  const hosted = ['web_search', 'image_generation', 'mcp', 'shell', 'apply_patch', 'local_shell', 'computer'];
  const tools = [lookup, ...hosted.map((type) => ({ type, server_label: 'secret' }))];

  it('are taken, echoed, not shown, and reported by their types', async () => {
    const from = stand.output.length;
    const answer = await post({ tools, input: [ASK] });
    expect(answer).toMatchObject({ status: 'completed', turnpike: { dropped_tools: hosted } });
    expect((answer as unknown as { tools: unknown[] }).tools).toHaveLength(tools.length);
    expect(lastPrompt()).toContain('type lookup');
    for (const type of hosted) expect(lastPrompt()).not.toContain(type);
    const logged = () =>
      stand.output
        .slice(from)
        .split('\n')
        .find((line) => line.includes(answer.id));
    while (logged() === undefined) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(JSON.parse(logged() ?? '')).toMatchObject({ dropped_tools: hosted });
    expect(stand.output.slice(from)).not.toContain('secret');
    expect(await post({ tools: [lookup], input: [ASK] })).not.toHaveProperty('turnpike.dropped_tools');
  });

  it('are reported in every event that shows the response, and when an item brought them', async () => {
    const item = { type: 'additional_tools', role: 'developer', tools: [{ type: 'web_search' }] };
    const events = await socket.create({ input: [item, ASK] });
    for (const { response } of events.filter((event) => event.response !== undefined)) {
      expect(response).toMatchObject({ turnpike: { dropped_tools: ['web_search'] } });
    }
    const next = await socket.create({ input: [ASK], previous_response_id: terminalOf(events).response.id });
    expect(terminalOf(next).response).toMatchObject({ turnpike: { dropped_tools: ['web_search'] } });
  });

  it('cannot be forced', async () => {
    const { error } = await post({ tools, input: [ASK], tool_choice: { type: 'web_search' } });
    expect(error).toMatchObject({ param: 'tool_choice', code: 'invalid_value' });
  });
});
