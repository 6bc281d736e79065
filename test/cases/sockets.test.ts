import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { begin, FakeEngine, sse } from '../../libs/inference/testing/fake-engine.js';
import { keysOf, startGateway } from '../e2e/platform.js';
import { SocketClient, textOf, type WireEvent } from '../e2e/socket-client.js';
import { Stand } from '../e2e/stand.js';
import { checkStream, idOf, terminal } from '../conformance/stream-rules.js';
import { connect, postJson, type Body } from '../conformance/transports.js';
import { idsOf } from './scripted-engine.js';

/** Reported failures of servers with WebSockets, each by its number. */
let stand: Stand;

beforeAll(async () => {
  stand = await Stand.start(['limits: { resumeMs: 0 }']);
});
afterAll(() => stand.stop());

const open = (url = stand.url) => SocketClient.connect(url);
const ORPHAN = [{ type: 'function_call_output', call_id: 'call_none', output: 'x' }];
const isEnd = ({ type }: WireEvent) => /^(error|response\.(completed|incomplete|failed))$/.test(type);
const create = (body: Body) => ({ type: 'response.create', model: 'sim', store: false, ...body });

it('B01: a frame over the limit closes with 1009 and a reason, no JSON error instead', async () => {
  const LIMIT = 16 * 1024 * 1024;
  const padded = (bytes: number) => {
    const frame = create({ input: 'x', padding: '' });
    return JSON.stringify({ ...frame, padding: 'p'.repeat(bytes - JSON.stringify(frame).length) });
  };
  const [client, other] = [await open(), await open()];
  client.send(padded(LIMIT));
  await client.until(() => client.events.some(isEnd));
  expect(client.events.at(-1)?.type).toBe('response.completed');
  const before = client.events.length;
  client.send(padded(LIMIT + 1));
  expect(await client.untilClosed()).toEqual({ code: 1009, reason: expect.stringMatching(/16777216/) });
  expect(client.events).toHaveLength(before);
  expect((await postJson(stand.url, padded(LIMIT + 1))).status).toBe(200);
  checkStream(await other.create({ input: 'y' }));
  other.close();
});

it.each([undefined, 'main'])(
  'B02: previous_response_not_found has exactly its code and envelope, in lane %s',
  async (stream_id) => {
    const client = await open();
    stand.takePromptIds();
    client.send(
      create({ stream_id, previous_response_id: 'resp_gone', input: [{ role: 'user', content: 'go on' }] }),
    );
    await client.until(() => client.events.length > 0);
    const { sequence_number: _number, headers: _headers, ...frame } = client.events[0] ?? { type: 'none' };
    const { headers: _more, ...error } = frame.error as Record<string, unknown>;
    expect({ ...frame, error }).toEqual({
      type: 'error',
      status: 400,
      ...(stream_id === undefined ? {} : { stream_id }),
      error: {
        type: 'invalid_request_error',
        code: 'previous_response_not_found',
        message: "Previous response with id 'resp_gone' not found.",
        param: 'previous_response_id',
      },
    });
    const next = await client.create({
      stream_id,
      input: [{ role: 'user', content: 'all of it' }],
      store: false,
    });
    checkStream(next);
    expect(client.events).toHaveLength(1 + next.length);
    expect(stand.takePromptIds()).toHaveLength(1);
    client.close();
  },
);

it('B03: after a reconnect a store: false chain cannot go on, a stored one can', async () => {
  const first = await open();
  const [gone, kept] = [
    idOf(await first.create({ input: 'one', store: false })),
    idOf(await first.create({ input: 'two', store: true })),
  ];
  first.socket.terminate();
  await first.untilClosed();
  stand.takePrompts();
  const second = await connect('websocket', stand);
  const http = await connect('http', stand);
  for (const client of [second, http]) {
    const lost = await client.create({ previous_response_id: gone, input: 'delta' });
    expect(lost).toMatchObject([{ status: 400, error: { code: 'previous_response_not_found' } }]);
    expect(textOf(await client.create({ previous_response_id: kept, input: 'delta' }))).toContain(
      'message 2',
    );
  }
  // A delta is never run without its context.
  for (const prompt of stand.takePrompts()) expect(prompt).toContain('two');
  second.close();
});

it('B04: a failed continuation evicts its parent on the same lane, not on a fork', async () => {
  const client = await connect('websocket', stand);
  const root = async () => idOf(await client.create({ input: 'root', store: false, stream_id: 'main' }));
  const go = (stream_id: string, previous_response_id: string, input: unknown = 'go on') =>
    client.create({ stream_id, previous_response_id, input, store: false });
  const evicted = await root();
  await go('main', evicted, ORPHAN);
  expect(await go('main', evicted)).toMatchObject([{ error: { code: 'previous_response_not_found' } }]);
  const forked = await root();
  await go('critic', forked, ORPHAN);
  expect(terminal(await go('main', forked)).response.status).toBe('completed');
  client.close();
});

it('B04: an interruption evicts nothing', async () => {
  const client = await open();
  const root = idOf(await client.create({ input: 'root', store: false }));
  client.send(create({ previous_response_id: root, input: 'x [sim tokens=300000]' }));
  await client.until(() => client.events.at(-1)?.type.endsWith('.delta') === true);
  const running = client.events.findLast(({ type }) => type === 'response.created')?.response?.id;
  client.send({ type: 'response.interrupt', response_id: running });
  await client.until(() => client.events.at(-1)?.type === 'response.incomplete');
  expect(textOf(await client.create({ previous_response_id: root, input: 'y', store: false }))).toContain(
    'message 2',
  );
  client.close();
});

it('B06: a warm-up reports what was read and nothing written, a turn what it did', async () => {
  const client = await connect('websocket', stand);
  const warm = terminal(await client.create({ input: 'x', generate: false })).response;
  const turn = terminal(await client.create({ previous_response_id: warm.id, input: 'y' })).response;
  expect(warm.usage).toMatchObject({ output_tokens: 0, total_tokens: warm.usage?.input_tokens });
  expect(turn.usage?.output_tokens).toBeGreaterThan(0);
  expect(turn.id).not.toBe(warm.id);
  client.close();
});

it('B07: lanes echo, run first in, first out inside, and beside each other', async () => {
  const client = await open();
  const root = idOf(await client.create({ stream_id: 'main', input: 'root', store: false }));
  client.events.length = 0;
  const slow = 'x [sim stall=150 tokens=30]';
  for (const stream_id of ['forkA', 'forkB', 'forkA', undefined]) {
    client.send(create({ stream_id, previous_response_id: root, input: slow }));
  }
  await client.until(() => client.events.filter(isEnd).length === 4);
  const moments = client.events.filter((event) => isEnd(event) || event.type === 'response.created');
  const of = (lane: string | undefined) => moments.filter(({ stream_id }) => stream_id === lane);
  expect(of('forkA').map(({ type }) => type.slice(9))).toEqual([
    'created',
    'completed',
    'created',
    'completed',
  ]);
  const begun = moments.slice(0, moments.findIndex(isEnd)).map(({ stream_id }) => stream_id);
  expect(new Set(begun)).toEqual(new Set(['forkA', 'forkB', undefined]));
  const fresh = await client.create({ stream_id: 'forkA', input: 'who am I?', store: false });
  expect(textOf(fresh)).toContain('message 1');
  client.close();
});

it('B08: of 40 creates on 20 lanes 16 run, the rest wait; names are limited in number and in kind', async () => {
  const client = await open();
  const lanes = Array.from({ length: 20 }, (_, index) => `lane${index}`);
  for (const round of [1, 2]) {
    for (const stream_id of lanes)
      client.send(create({ stream_id, input: `${round} [sim stall=400 tokens=20]` }));
  }
  await client.until(() => client.events.filter(isEnd).length === 40);
  let [running, most] = [0, 0];
  for (const event of client.events) {
    if (event.type === 'response.created') most = Math.max(most, ++running);
    if (isEnd(event)) running--;
  }
  expect(most).toBe(16);
  expect(client.events.filter(({ type }) => type === 'error')).toEqual([]);
  for (let index = 20; index < 32; index++)
    await client.create({ stream_id: `lane${index}`, generate: false });
  expect(await client.create({ stream_id: 'lane32', input: 'x' })).toMatchObject([
    { stream_id: 'lane32', error: { code: 'websocket_stream_limit_reached' } },
  ]);
  for (const stream_id of ['lane3', undefined])
    checkStream(await client.create({ stream_id, generate: false }));
  for (const stream_id of ['', 'a b', 'x'.repeat(257), 5]) {
    client.events.length = 0;
    client.send(create({ stream_id, input: 'x' }));
    await client.until(() => client.events.length > 0);
    expect(client.events[0]).toMatchObject({ error: { code: 'invalid_stream_id' } });
    expect(client.events[0]).not.toHaveProperty('stream_id');
  }
  checkStream(await client.create({ generate: false }));
  expect((await postJson(stand.url, { input: 'x', stream_id: 'a' })).status).toBe(400);
  client.close();
});

describe('an engine that says nothing', () => {
  it('B10: the response begins before it, and shows signs of life until it speaks', async () => {
    let speak: () => void = () => undefined;
    const engine = await FakeEngine.start(async ({ response }) => {
      await new Promise<void>((resolve) => (speak = resolve));
      begin(response);
      const ids = idsOf('<|channel|>final<|message|>at last<|return|>');
      response.end(sse({ choices: [{ text: '', finish_reason: 'stop', token_ids: ids }] }, '[DONE]'));
    });
    const gateway = await startGateway(engine.url, [
      'limits: { keepAliveMs: 100 }',
      'store: { kind: memory }',
    ]);
    for (const transport of ['websocket', 'http'] as const) {
      const client = await connect(transport, gateway);
      const answer = client.create({ input: 'a long prompt '.repeat(20_000) });
      while (engine.requests.length === 0) await setTimeout(5);
      // Signs of life go out while it is silent.
      await setTimeout(350);
      speak();
      const events = await answer;
      const types = events.map(({ type }) => type);
      expect(types.slice(0, 4)).toEqual([
        'response.created',
        'response.in_progress',
        'keepalive',
        'keepalive',
      ]);
      expect(textOf(events)).toBe('at last');
      engine.requests.length = 0;
      client.close();
    }
    await gateway.stop();
    gateway.cleanUp();
    await engine.stop();
  });

  it('B10: nothing that a client is told waits for it', async () => {
    const engine = await FakeEngine.start(() => undefined);
    const gateway = await startGateway(engine.url, ['store: { kind: memory }']);
    const client = await open(gateway.url);
    client.send(create({ input: 'x' }));
    await client.until(() => client.events.length === 2);
    expect(client.events.map(({ type }) => type)).toEqual(['response.created', 'response.in_progress']);
    client.socket.terminate();
    await gateway.stop();
    gateway.cleanUp();
    await engine.stop();
  });
});

it('B14: a WebSocket that cannot be had is refused in plain HTTP', async () => {
  const off = await stand.gateway(['websocket: false', 'store: { kind: memory }']);
  const keyed = await stand.gateway([
    ...keysOf('alice'),
    'limits: { connectionsPerKey: 1 }',
    'store: { kind: memory }',
  ]);
  const bearer = { authorization: 'Bearer alice' };
  const held = await SocketClient.connect(keyed.url, '/v1/responses', bearer);
  const upgrade = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  };
  for (const [url, headers, status, code] of [
    [off.url, upgrade, 426, 'upgrade_required'],
    [keyed.url, upgrade, 401, 'invalid_api_key'],
    [keyed.url, { ...upgrade, authorization: 'Bearer mallory' }, 401, 'invalid_api_key'],
    [keyed.url, { ...upgrade, ...bearer }, 429, 'too_many_connections_of_key'],
    [off.url, {}, 426, 'upgrade_required'],
  ] as const) {
    const sent = request(`${url}/v1/responses`, { headers: { ...headers } });
    sent.end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    let text = '';
    for await (const part of answer) text += String(part);
    expect([answer.statusCode, JSON.parse(text)]).toMatchObject([status, { error: { code, param: null } }]);
    if (status === 429) expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  }
  held.close();
});
