import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { configSchema } from '../../apps/gateway/src/config/schema.js';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import { keysOf } from '../e2e/platform.js';
import { SocketClient, type WireEvent } from '../e2e/socket-client.js';
import { checkStream } from './stream-rules.js';
import { Stand } from '../e2e/stand.js';
import { normalised, overBoth, postJson, type Address } from './transports.js';

const FRAME_BYTES = 64 * 1024;
const SECOND = { type: 'response.create', model: 'sim', input: 'again' };
const BEARER = { authorization: 'Bearer alice' };

let stand: Stand;
const address = (): Address => ({ url: stand.url, headers: BEARER });

beforeAll(async () => {
  stand = await Stand.start([
    ...keysOf('alice'),
    `limits: { frameBytes: ${FRAME_BYTES}, incompleteBytes: ${2 * FRAME_BYTES}, keepAliveMs: 100 }`,
  ]);
});
afterAll(() => stand.stop());

const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const UPGRADE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': KEY,
};

interface Handshake {
  readonly status: number | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: { error?: Record<string, unknown> };
}

/** What the server answers to a request, an upgrade or not. */
async function handshake(
  headers: Record<string, string>,
  path = '/v1/responses',
  url = stand.url,
): Promise<Handshake> {
  const sent = request(url + path, { headers });
  sent.end();
  const [answer, socket] = (await Promise.race([once(sent, 'upgrade'), once(sent, 'response')])) as [
    IncomingMessage,
    Duplex?,
  ];
  let text = '';
  if (socket === undefined) for await (const part of answer) text += String(part);
  socket?.destroy();
  return {
    status: answer.statusCode,
    headers: answer.headers,
    body: (text === '' ? {} : JSON.parse(text)) as Handshake['body'],
  };
}

async function open(headers: Record<string, string> = BEARER, path = '/v1/responses', url = stand.url) {
  return SocketClient.connect(url, path, headers);
}

/** Fails unless the connection still answers. */
async function expectAlive(client: SocketClient): Promise<void> {
  const events = await client.create({ input: 'still there?' });
  checkStream(events);
  expect(events.at(-1)?.type).toBe('response.completed');
  client.close();
}

describe('handshake', () => {
  it.each([
    ['none', {}],
    ['one', { 'sec-websocket-protocol': 'realtime' }],
    ['several', { 'sec-websocket-protocol': 'realtime, openai-insecure-api-key.alice, openai-beta.x' }],
  ])(
    '1. a valid key and an upgrade give a 101 without a sub-protocol, with %s offered',
    async (_offered, more) => {
      const { status, headers } = await handshake({ ...UPGRADE, ...BEARER, ...more });
      const accept = createHash('sha1').update(`${KEY}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
      expect(status).toBe(101);
      expect(headers['sec-websocket-accept']).toBe(accept);
      expect(headers).not.toHaveProperty('sec-websocket-protocol');
    },
  );

  it('1. the scheme of a key may be written in any case', async () => {
    for (const authorization of ['bearer alice', 'BEARER alice'])
      await expectAlive(await open({ authorization }));
  });

  it.each([
    ['absent', {}],
    ['responses_websockets=2026-02-04', { 'openai-beta': 'responses_websockets=2026-02-04' }],
    ['responses_websockets=2026-02-06', { 'openai-beta': 'responses_websockets=2026-02-06' }],
    ['unknown', { 'openai-beta': 'responses_websockets=2031-01-01, assistants=v2' }],
    ['another feature', { 'openai-beta': 'responses_multi_agent=v1' }],
    ['empty', { 'openai-beta': '' }],
  ])('2. works with the OpenAI-Beta header %s', async (_value, headers) => {
    await expectAlive(await open({ ...BEARER, ...headers }));
  });

  it.each<[string, Record<string, string>]>([
    ['no key', {}],
    ['another key', { authorization: 'Bearer mallory' }],
    ['an empty key', { authorization: 'Bearer ' }],
    ['another scheme', { authorization: 'Basic YWxpY2U6' }],
    ['the bare key', { authorization: 'alice' }],
    ['a part of the key', { authorization: 'Bearer alic' }],
    [
      'the hash of the key',
      { authorization: `Bearer ${createHash('sha256').update('alice').digest('hex')}` },
    ],
    ['the key elsewhere', { 'api-key': 'alice', cookie: 'authorization=Bearer alice' }],
  ])('3. %s is a 401 in JSON, before the 101 and on every HTTP route', async (_key, headers) => {
    const answers = [
      await handshake({ ...UPGRADE, ...headers }),
      await handshake({ ...UPGRADE, ...headers }, '/v1/responses?api_key=alice'),
      await handshake(headers, '/v1/models'),
      await handshake(headers, '/v1/responses/resp_1'),
    ];
    for (const { status, headers: said, body } of answers) {
      expect(status).toBe(401);
      expect(said['content-type']).toMatch(/^application\/json/);
      expect(body).toEqual({
        error: {
          type: 'authentication_error',
          code: 'invalid_api_key',
          message: expect.any(String),
          param: null,
        },
      });
    }
    const posted = await postJson(stand.url, { input: 'x' }, headers);
    expect(posted.status).toBe(401);
    expect(JSON.parse(posted.text)).toEqual(answers[0]?.body);
  });

  it('4. WebSocket switched off is a 426, and HTTP works on', async () => {
    const { url } = await stand.gateway(['websocket: false', 'store: { kind: memory }']);
    const { status, headers, body } = await handshake(UPGRADE, '/v1/responses', url);
    expect(status).toBe(426);
    expect(headers['content-type']).toMatch(/^application\/json/);
    expect(body.error).toMatchObject({
      code: 'upgrade_required',
      type: 'invalid_request_error',
      param: null,
    });
    expect((await postJson(url, { input: 'x' })).status).toBe(200);
  });

  it.each(['/v1/responses', '/responses', '/v1/responses?model=sim', '/v1/responses/'])(
    '5. a plain GET of %s explains itself in JSON',
    async (path) => {
      const { status, headers, body } = await handshake(BEARER, path);
      expect([405, 426]).toContain(status);
      expect(headers['content-type']).toMatch(/^application\/json/);
      expect(body.error?.['message']).toMatch(/WebSocket/);
      expect(headers['upgrade']).toBe('websocket');
    },
  );

  it.each([
    '/v1/responses?api-version=2026-02-06&model=sim&x=%00',
    '/v1/responses?',
    '/responses',
    '/responses/?a=1',
    '/v1/responses/',
  ])('6. unknown headers and query parameters are passed over at %s', async (path) => {
    const headers = {
      'session-id': 's',
      'x-codex-turn-metadata': '{"a":1}',
      'x-stainless-os': 'Linux',
      originator: 'o',
    };
    await expectAlive(await open({ ...BEARER, ...headers }, path));
  });

  it('6. any other path is a JSON 404 and no socket', async () => {
    for (const path of [
      '/',
      '/v1',
      '/v1/responsesX',
      '/v1//responses',
      '/v2/responses',
      '/v1/responses/resp_1',
      '/socket',
    ]) {
      const { status, body } = await handshake({ ...UPGRADE, ...BEARER }, path);
      expect([path, status, body.error?.['code']]).toEqual([path, 404, 'not_found']);
    }
  });

  it('7. both sides stream the same whether permessage-deflate is offered or not', async () => {
    const answer = async (perMessageDeflate: boolean) => {
      const socket = new WebSocket(`${stand.url.replace('http', 'ws')}/v1/responses`, {
        headers: BEARER,
        perMessageDeflate,
      });
      await once(socket, 'open');
      if (!perMessageDeflate) expect(socket.extensions).toBe('');
      const events: WireEvent[] = [];
      socket.on('message', (data: Buffer) => events.push(JSON.parse(data.toString()) as WireEvent));
      socket.send(JSON.stringify({ ...SECOND, input: 'the same for everyone' }));
      while (!events.some(({ type }) => type === 'response.completed')) await once(socket, 'message');
      socket.close();
      checkStream(events);
      return normalised(events);
    };
    await answer(false);
    expect(await answer(true)).toEqual(await answer(false));
  });
});

describe('a connection', () => {
  it('8. answers pings with their payload while it generates', async () => {
    const client = await open();
    client.send({ ...SECOND, input: 'x [sim stall=60000 tokens=20]' });
    await client.until(() => client.events.some(({ type }) => type.endsWith('.delta')));
    for (const payload of ['', 'a', 'x'.repeat(125)]) {
      const pong = once(client.socket, 'pong') as Promise<[Buffer]>;
      client.socket.ping(payload);
      expect((await pong)[0].toString()).toBe(payload);
    }
    expect(client.events.some(({ response }) => response?.status === 'completed')).toBe(false);
    client.socket.terminate();
    await stand.untilIdle();
  });

  overBoth(
    '9. a response that produces nothing shows signs of life, before its first token and between tokens',
    address,
    async (client) => {
      for (const marker of ['stall=450 tokens=10 reason=0', 'stall=450 reason=0 tool=none']) {
        const events = await client.create({ input: `x [sim ${marker}]` });
        const signs = events.filter(({ type }) => type === 'keepalive');
        expect(signs.length).toBeGreaterThanOrEqual(2);
        for (const sign of signs) expect(Object.keys(sign).sort()).toEqual(['sequence_number', 'type']);
        expect(events.at(-1)?.type).toBe('response.completed');
      }
    },
  );

  it('9. at least once a minute unless configured otherwise', () => {
    expect(configSchema.parse({}).limits.keepAliveMs).toBeLessThan(60_000);
  });

  it('10. a frame at the limit is taken; one byte more closes with 1009 and a reason, and nobody else notices', async () => {
    const frame = (bytes: number) => {
      const empty = JSON.stringify({ ...SECOND, padding: '' });
      return JSON.stringify({ ...SECOND, padding: 'p'.repeat(bytes - empty.length) });
    };
    const other = await open();
    const client = await open();
    client.send(frame(FRAME_BYTES));
    await client.until(() => client.events.at(-1)?.type === 'response.completed');
    client.send(frame(FRAME_BYTES + 1));
    const { code, reason } = await client.untilClosed();
    expect([code, reason]).toEqual([1009, expect.stringMatching(/65536 bytes/)]);
    expect(client.events.filter(({ type }) => type === 'error')).toEqual([]);
    // What is too large for a frame still has HTTP.
    expect((await postJson(stand.url, frame(FRAME_BYTES + 1), BEARER)).status).toBe(200);
    await expectAlive(other);
  });

  it('10. fragments count together', async () => {
    const client = await open();
    client.socket.send('x'.repeat(FRAME_BYTES / 2), { fin: false });
    client.socket.send('x'.repeat(FRAME_BYTES / 2), { fin: false });
    client.socket.send('x', { fin: true });
    expect((await client.untilClosed()).code).toBe(1009);
  });

  it('10. messages that never become whole are bounded over all connections: the oldest is given up', async () => {
    const clients = [await open(), await open(), await open()] as const;
    for (const client of clients) {
      client.socket.send(`{${' '.repeat(0.7 * FRAME_BYTES)}`, { fin: false });
      // In this order: the server has read what came before a pong.
      const pong = once(client.socket, 'pong');
      client.socket.ping();
      await pong;
    }
    const { code, reason } = await clients[0].untilClosed();
    expect([code, reason]).toEqual([1009, 'too many bytes of incomplete messages']);
    for (const client of clients.slice(1)) {
      client.socket.send(JSON.stringify(SECOND).slice(1), { fin: true });
      await client.until(() => client.events.at(-1)?.type === 'response.completed');
      await expectAlive(client);
    }
  });

  it.each<[string, Buffer]>([
    ['empty', Buffer.alloc(0)],
    ['bytes', Buffer.from([0, 1, 2, 0xff])],
    ['JSON', Buffer.from(JSON.stringify(SECOND))],
  ])('11. a binary frame of %s is refused, and the connection lives on', async (_name, data) => {
    const client = await open();
    client.send(data);
    await client.until(() => client.events.length === 1);
    checkStream(client.events);
    expect(client.events[0]).toMatchObject({ status: 400, error: { code: 'binary_frame' } });
    await expectAlive(client);
  });

  it('11. text that is not UTF-8 closes with 1007 and ends nothing else', async () => {
    const other = await open();
    const client = await open();
    client.socket.send(Buffer.from([0xff, 0xfe]), { binary: false });
    expect((await client.untilClosed()).code).toBe(1007);
    await expectAlive(other);
  });

  it('14. the engine stops at once for every lane of a client that leaves, by whatever way', async () => {
    for (const leave of ['close', 'terminate'] as const) {
      const client = await open();
      for (const stream_id of [undefined, 'a', 'b', 'c']) {
        client.send({ ...SECOND, stream_id, input: 'x [sim stall=60000 tokens=40]' });
      }
      await client.until(() => client.events.filter(({ type }) => type === 'response.created').length === 4);
      while ((await stand.running()) < 4) await new Promise((resolve) => setTimeout(resolve, 5));
      // What still waits is never begun.
      client.send({ ...SECOND, input: 'never' });
      client.socket[leave]();
      await stand.untilIdle();
    }
    expect(stand.takePrompts().filter((prompt) => prompt.includes('never'))).toEqual([]);
  });

  it('14. and for a client that leaves an HTTP stream', async () => {
    const gone = new AbortController();
    const answer = await fetch(`${stand.url}/v1/responses`, {
      method: 'POST',
      headers: BEARER,
      body: JSON.stringify({ model: 'sim', stream: true, input: 'x [sim stall=60000 tokens=40]' }),
      signal: gone.signal,
    });
    await answer.body?.getReader().read();
    while ((await stand.running()) < 1) await new Promise((resolve) => setTimeout(resolve, 5));
    gone.abort();
    await stand.untilIdle();
  });

  it('16. every message is JSON text, whatever was asked', async () => {
    const client = await open();
    const kinds: boolean[] = [];
    client.socket.on('message', (_data, isBinary) => kinds.push(isBinary));
    client.send('not json');
    client.send(Buffer.from('{}'));
    client.send({ type: 'response.interrupt', response_id: 'resp_1' });
    client.send({ type: 'response.steer', previous_response_id: 'resp_1', input: 'x' });
    await client.until(() => client.events.length === 4);
    await client.create({ input: 'x [sim die=3]' });
    await client.create({ input: 'x [sim emoji=1]' });
    await client.create({ generate: false });
    expect(new Set(kinds)).toEqual(new Set([false]));
    for (const text of client.raw) expect(typeof (JSON.parse(text) as WireEvent).type).toBe('string');
    client.close();
  });
});
