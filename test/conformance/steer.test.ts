import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { SocketClient, textOf, type WireEvent } from '../e2e/socket-client.js';
import { Stand } from '../e2e/stand.js';
import type { Body } from './transports.js';

let stand: Stand;
let client: SocketClient;

beforeAll(async () => {
  stand = await Stand.start();
});
afterAll(() => stand.stop());
beforeEach(async () => {
  client = await SocketClient.connect(stand.url);
});
afterEach(() => client.close());

const isEnd = ({ type }: WireEvent) => /^response\.(completed|incomplete|failed)$/.test(type);
const ends = () => client.events.filter(isEnd);
const all = (type: string) => client.events.filter((event) => event.type === type);
const steer = (previous_response_id: unknown, input: unknown, more: Body = {}) =>
  client.send({ type: 'response.steer', previous_response_id, input, ...more });

async function begun(body: Body): Promise<string> {
  client.send({ type: 'response.create', model: 'sim', ...body });
  await client.until(() => client.events.some(({ type }) => type.endsWith('.delta')));
  return all('response.created').at(-1)?.response?.id ?? '';
}

it.each([undefined, 'main'])(
  '82. a steer of a running response is accepted, and a successor carries it on, in lane %s',
  async (stream_id) => {
    const id = await begun({
      input: 'x [sim stall=1200 tokens=60]',
      instructions: 'Be brief.',
      stream_id,
      store: false,
    });
    steer(id, 'turn left');
    await client.until(() => ends().length === 2);
    for (const event of client.events) expect(event.stream_id).toBe(stream_id);
    const [accepted] = all('response.steer.accepted');
    expect(accepted).toMatchObject({
      sequence_number: expect.any(Number),
      steer: { id: expect.any(String), previous_response_id: id },
    });
    const [first, second] = ends();
    expect(['response.completed', 'response.incomplete']).toContain(first?.type);
    if (first?.type === 'response.incomplete') {
      expect(first.response).toMatchObject({ incomplete_details: { reason: 'steered' } });
    }
    expect(second?.response).toMatchObject({
      status: 'completed',
      previous_response_id: id,
      instructions: 'Be brief.',
      store: false,
    });
    expect(textOf([second ?? { type: '' }])).toContain('turn left');
  },
);

it('82. several are carried on in the order they came', async () => {
  const id = await begun({ input: 'x [sim stall=1200 tokens=60]' });
  stand.takePrompts();
  for (const text of ['first wish', 'second wish'])
    steer(id, [{ type: 'message', role: 'user', content: text }]);
  await client.until(() => ends().length === 2);
  expect(all('response.steer.accepted')).toHaveLength(2);
  expect(stand.takePrompts().at(-1)).toMatch(/first wish[^]*second wish/);
});

it('82. a response that ends waiting for tool output keeps the steer until it comes', async () => {
  const tools = [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }];
  const id = await begun({ input: 'x [sim reason=0 parallel=200]', tools, stream_id: 'main' });
  await client.until(() => all('response.output_item.done').length > 0);
  steer(id, 'and hurry');
  await client.until(() => all('response.steer.pending').length === 1);
  const calls = ends()[0]?.response?.output ?? [];
  expect(all('response.steer.pending')[0]).toMatchObject({
    reason: 'waiting_for_required_input',
    required_input: calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, name: 'f' })),
  });
  stand.takePrompts();
  const input = calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'done' }));
  await client.create({ stream_id: 'main', previous_response_id: id, input, tools });
  expect(stand.takePrompts()[0]).toMatch(/done[^]*and hurry|and hurry[^]*done/);
});

it('82. with a stream_id, without a user message, or with more than its fields it fails, and the response goes on', async () => {
  const id = await begun({ input: 'x [sim stall=1200 tokens=60]', stream_id: 'main' });
  const bad: [unknown, Body][] = [
    ['x', { stream_id: 'main' }],
    [[], {}],
    [[{ type: 'message', role: 'assistant', content: 'x' }], {}],
    [[{ type: 'function_call_output', call_id: 'c', output: 'x' }], {}],
    [5, {}],
  ];
  for (const [input, more] of bad) steer(id, input, more);
  await client.until(() => all('response.steer.failed').length === bad.length);
  for (const event of all('response.steer.failed')) expect(event.error?.code).toBe('invalid_input');
  await client.until(() => ends().length === 1);
  expect(ends()[0]?.type).toBe('response.completed');
});

it('82. of a response that has completed, or is not there, says so', async () => {
  const id = await begun({ input: 'x' });
  await client.until(() => ends().length === 1);
  steer(id, 'late');
  steer('resp_unknown', 'lost');
  await client.until(() => all('response.steer.failed').length === 2);
  expect(all('response.steer.failed').map(({ error }) => error?.code)).toEqual([
    'response_already_completed',
    'response_not_found',
  ]);
});

it('82. response.inject is refused in its own words', async () => {
  const input = [{ type: 'function_call_output', call_id: 'c', output: 'x' }];
  client.send({ type: 'response.inject', response_id: 'resp_unknown', input });
  await client.until(() => client.events.length > 0);
  expect(client.events).toMatchObject([
    {
      type: 'response.inject.failed',
      response_id: 'resp_unknown',
      input,
      error: { code: 'response_not_found', message: expect.any(String) },
      sequence_number: expect.any(Number),
    },
  ]);
});
