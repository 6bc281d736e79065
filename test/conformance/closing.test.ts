import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { configSchema } from '../../apps/gateway/src/config/schema.js';
import { SocketClient } from '../e2e/socket-client.js';
import { Stand } from '../e2e/stand.js';
import { checkStream } from './stream-rules.js';
import { connect, postJson } from './transports.js';

const SECOND = { type: 'response.create', model: 'sim', input: 'again' };

let stand: Stand;

beforeAll(async () => {
  // The first gateway: connections live for a second.
  stand = await Stand.start(['limits: { connectionMs: 1000 }', 'store: { kind: memory }']);
});
afterAll(() => stand.stop());

const open = (url = stand.url) => SocketClient.connect(url);

describe('the end of a connection', () => {
  /** Codes after which openai-node connects again. */
  const RECOVERABLE = [1001, 1005, 1006, 1011, 1012, 1013, 1015];
  const EXPIRED = {
    type: 'error',
    status: 400,
    error: expect.objectContaining({
      type: 'invalid_request_error',
      code: 'websocket_connection_limit_reached',
      param: null,
      message:
        'Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.',
    }),
  };
  it('12. at max age an idle connection is told so, and closed in a way that clients recover from', async () => {
    const client = await open();
    const { code } = await client.untilClosed();
    expect(RECOVERABLE).toContain(code);
    expect(client.events).toEqual([expect.objectContaining(EXPIRED)]);
    checkStream(client.events);
  });

  it('12. one that is busy lets its responses finish, and takes no more', async () => {
    const client = await open();
    for (const stream_id of ['a', 'b'])
      client.send({ ...SECOND, stream_id, input: 'x [sim stall=1300 tokens=30]' });
    await client.until(() => client.events.some(({ type }) => type === 'error'));
    client.send({ ...SECOND, stream_id: 'a' });
    expect(RECOVERABLE).toContain((await client.untilClosed()).code);
    const [first, second, ...more] = client.events.filter(({ type }) => type === 'error');
    expect(first).toMatchObject(EXPIRED);
    expect(first).not.toHaveProperty('stream_id');
    expect(second).toMatchObject({ ...EXPIRED, stream_id: 'a' });
    expect(more).toEqual([]);
    for (const lane of ['a', 'b']) {
      checkStream(client.events.filter(({ type, stream_id }) => type !== 'error' && stream_id === lane));
    }
  });

  it('13. max age is 60 minutes unless configured otherwise', () => {
    expect(configSchema.parse({}).limits.connectionMs).toBe(60 * 60_000);
    expect(configSchema.parse({ limits: { connectionMs: 1000 } }).limits.connectionMs).toBe(1000);
  });

  it('15. a server that stops lets running responses finish, then closes with 1001 or 1012', async () => {
    const gateway = await stand.gateway(['store: { kind: memory }']);
    const busy = await open(gateway.url);
    const idle = await open(gateway.url);
    for (const stream_id of [undefined, 'a'])
      busy.send({ ...SECOND, stream_id, input: 'x [sim stall=700 tokens=30]' });
    await busy.until(() => busy.events.filter(({ type }) => type.endsWith('.delta')).length >= 2);
    const stream = connect('http', { url: gateway.url }).then((client) =>
      client.create({ input: 'x [sim stall=700 tokens=30]' }),
    );
    while ((await stand.running()) < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    gateway.signal('SIGTERM');
    for (const client of [idle, busy]) expect([1001, 1012]).toContain((await client.untilClosed()).code);
    for (const lane of [undefined, 'a'])
      checkStream(busy.events.filter(({ stream_id }) => stream_id === lane));
    expect(idle.events).toEqual([]);
    expect((await stream).at(-1)?.type).toBe('response.completed');
    expect(await gateway.ended()).toBe(0);
  });

  it('15. at the deadline it ends what still runs as failed, and refuses what waits', async () => {
    const gateway = await stand.gateway(['limits: { drainMs: 100 }', 'store: { kind: memory }']);
    const client = await open(gateway.url);
    const long = { ...SECOND, input: 'x [sim stall=60000 tokens=30 reason=0]' };
    for (const stream_id of [undefined, 'a']) client.send({ ...long, stream_id });
    await client.until(() => client.events.filter(({ type }) => type.endsWith('.delta')).length >= 2);
    client.send({ ...SECOND, stream_id: 'a' });
    const http = await connect('http', { url: gateway.url });
    const streamed = http.create({ input: long.input });
    const plain = postJson(gateway.url, { input: long.input });
    while ((await stand.running()) < 4) await new Promise((resolve) => setTimeout(resolve, 5));
    gateway.signal('SIGTERM');
    expect([1001, 1012]).toContain((await client.untilClosed()).code);
    const stopped = {
      status: 'failed',
      error: { code: 'server_error', message: expect.stringMatching(/restarting/) },
    };
    for (const lane of [undefined, 'a']) {
      const own = client.events.filter(({ stream_id }) => stream_id === lane);
      const end = own.findIndex(({ type }) => type === 'response.failed') + 1;
      checkStream(own.filter(({ type }) => type !== 'error'));
      expect(own[end - 1]?.response).toMatchObject({
        ...stopped,
        output: [{ type: 'message', status: 'incomplete' }],
      });
    }
    expect(client.events.filter(({ type }) => type === 'error')).toMatchObject([
      { status: 503, stream_id: 'a', error: { code: 'server_shutting_down' } },
    ]);
    expect((await streamed).at(-1)?.response).toMatchObject(stopped);
    expect(JSON.parse((await plain).text)).toMatchObject(stopped);
    expect(await gateway.ended()).toBe(0);
  });
});
