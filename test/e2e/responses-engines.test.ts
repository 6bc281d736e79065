import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MessageServer } from '../../libs/inference/testing/message-server.js';
import { PATCH, WEATHER } from '../cases/harmony-texts.js';
import { idOf, terminal } from '../conformance/stream-rules.js';
import { connect, overBoth } from '../conformance/transports.js';
import { App } from './platform.js';
import { textOf } from './socket-client.js';

/** Conversations with a server that speaks the Responses API itself; what it is told is ours, and it keeps nothing. */
const folder = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
let server: MessageServer;
let gateway: App;
const here = () => gateway;

beforeAll(async () => {
  server = await MessageServer.start('/v1/responses');
  const config = join(folder, 'turnpike.yaml');
  writeFileSync(
    config,
    [
      'port: 0',
      'store: { kind: memory }',
      `engines: { other: { url: "${server.url}", kind: responses } }`,
      'models: { sim: { engine: other, engineModel: m, format: responses } }',
    ].join('\n'),
  );
  gateway = await App.start('gateway', ['--config', config]);
});
afterAll(async () => {
  await gateway.stop();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const added = (item: object) => ({ type: 'response.output_item.added', item });
const done = (item: object) => ({ type: 'response.output_item.done', item });
const reasoning = (summary: string, sealed: string) => [
  added({ type: 'reasoning', id: 'rs_theirs', summary: [] }),
  { type: 'response.reasoning_summary_text.delta', delta: summary },
  done({
    type: 'reasoning',
    id: 'rs_theirs',
    summary: [{ type: 'summary_text', text: summary }],
    encrypted_content: sealed,
  }),
];
const call = (name: string, written: string) => [
  added({ type: 'function_call', id: 'fc_theirs', call_id: 'call_theirs', name, arguments: '' }),
  { type: 'response.function_call_arguments.delta', delta: written.slice(0, 5) },
  { type: 'response.function_call_arguments.delta', delta: written.slice(5) },
  done({ type: 'function_call', call_id: 'call_theirs', name, arguments: written, status: 'completed' }),
];
const message = (text: string) => [
  added({ type: 'message', id: 'msg_theirs', role: 'assistant', content: [] }),
  { type: 'response.output_text.delta', delta: text },
  done({ type: 'message', content: [{ type: 'output_text', text }], status: 'completed' }),
];
const end = (status: string, fields: object = {}) => ({
  type: `response.${status}`,
  response: {
    id: 'resp_theirs',
    status,
    usage: {
      input_tokens: 70,
      input_tokens_details: { cached_tokens: 40 },
      output_tokens: 12,
      output_tokens_details: { reasoning_tokens: 5 },
    },
    ...fields,
  },
});

/** The last body, and the input in it as text. */
function lastBody(): { body: Record<string, unknown>; input: string } {
  const text = server.bodies.at(-1) ?? '';
  return { body: JSON.parse(text) as Record<string, unknown>, input: text.slice(text.indexOf('"input":[')) };
}

describe('a tool loop', () => {
  overBoth('goes through, sealed reasoning and all, by ids of ours', here, async (client) => {
    const base = { tools: [WEATHER, PATCH], instructions: 'Be kind.', reasoning: { effort: 'low' } };
    server.play(
      [...reasoning('thinking', 'sealed-1'), ...call('get_weather', '{"city":"서울"}'), end('completed')],
      [...call('apply_patch', '{"input":"*** 🫠"}'), end('completed')],
      [...message('Sunny.'), end('completed')],
    );
    const first = await client.create({ ...base, input: 'weather?' });
    const { response } = terminal(first);
    expect(response.output).toMatchObject([
      { type: 'reasoning', content: [{ text: 'thinking' }] },
      { type: 'function_call', name: 'get_weather', arguments: '{"city":"서울"}' },
    ]);
    expect(JSON.stringify(first)).not.toMatch(/theirs|sealed-1/);
    expect(response.usage).toMatchObject({
      input_tokens: 70,
      input_tokens_details: { cached_tokens: 40 },
      output_tokens: 12,
      output_tokens_details: { reasoning_tokens: 5 },
    });
    const one = lastBody();
    expect(one.body).toMatchObject({
      model: 'm',
      store: false,
      stream: true,
      instructions: 'Be kind.',
      reasoning: { effort: 'low' },
      include: ['reasoning.encrypted_content'],
      input: [{ type: 'message', role: 'user', content: 'weather?' }],
    });
    expect(one.body).not.toHaveProperty('previous_response_id');

    const [, made] = response.output;
    const second = await client.create({
      ...base,
      previous_response_id: response.id,
      input: [{ type: 'function_call_output', call_id: made?.call_id, output: '21 °C' }],
    });
    const two = lastBody();
    expect(two.input.startsWith(one.input.slice(0, -2))).toBe(true);
    expect(two.body['input']).toMatchObject([
      { role: 'user' },
      {
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'thinking' }],
        encrypted_content: 'sealed-1',
      },
      { type: 'function_call', call_id: made?.call_id, arguments: '{"city":"서울"}' },
      { type: 'function_call_output', call_id: made?.call_id, output: '21 °C' },
    ]);
    const [patch] = terminal(second).response.output;
    expect(patch).toMatchObject({ type: 'custom_tool_call', name: 'apply_patch', input: '*** 🫠' });

    const third = await client.create({
      ...base,
      previous_response_id: idOf(second),
      input: [{ type: 'custom_tool_call_output', call_id: patch?.call_id, output: 'applied' }],
    });
    expect(textOf(third)).toBe('Sunny.');
    expect(lastBody().input.startsWith(two.input.slice(0, -2))).toBe(true);
  });
});

describe('how it ends', () => {
  const ask = async (events: unknown[], body: Record<string, unknown> = {}) => {
    server.play(events);
    const client = await connect('http', here());
    return client.create({ input: 'x', ...body });
  };

  it.each([
    ['max_output_tokens', 'max_output_tokens'],
    ['content_filter', 'content_filter'],
  ])('incomplete by %s is passed on', async (theirs, reason) => {
    const events = await ask([
      ...message('half').slice(0, 2),
      end('incomplete', { incomplete_details: { reason: theirs } }),
    ]);
    expect(terminal(events).response).toMatchObject({ status: 'incomplete', incomplete_details: { reason } });
  });

  it.each([
    [
      'a failed response',
      [end('failed', { error: { code: 'server_error', message: 'secret' } })],
      'server_error',
    ],
    [
      'an error event',
      [{ type: 'error', error: { code: 'rate_limit_exceeded', message: 'secret' } }],
      'rate_limit_exceeded',
    ],
    ['an end without one', [], 'server_error'],
  ])('%s fails the response once, with what came, and the chain goes on', async (_, ending, code) => {
    const begun = await ask([...message('hi'), end('completed')]);
    const events = await ask([...message('half an').slice(0, 2), ...ending], {
      previous_response_id: idOf(begun),
    });
    const { response } = terminal(events);
    expect(response).toMatchObject({ status: 'failed', error: { code } });
    expect(response.output).toMatchObject([{ type: 'message', content: [{ text: 'half an' }] }]);
    expect(JSON.stringify(events)).not.toContain('secret');
    const next = await ask([...message('whole'), end('completed')], { previous_response_id: idOf(begun) });
    expect(textOf(next)).toBe('whole');
  });

  it('a reasoning item that a client brings back is what the server sealed', async () => {
    const first = await ask([...reasoning('hm', 'sealed-2'), ...message('yes'), end('completed')], {
      store: false,
      include: ['reasoning.encrypted_content'],
    });
    const items = terminal(first).response.output;
    const input = [{ role: 'user', content: 'x' }, ...items, { role: 'user', content: 'y' }];
    await ask([...message('ok'), end('completed')], { input, store: false });
    expect(lastBody().body['input']).toMatchObject([
      { role: 'user' },
      { type: 'reasoning', encrypted_content: 'sealed-2' },
      { type: 'message', role: 'assistant', content: 'yes' },
      { role: 'user' },
    ]);
  });
});
