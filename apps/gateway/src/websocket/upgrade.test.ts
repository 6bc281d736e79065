import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { KeyRing } from '@turnpike/access';
import { ApiError } from '@turnpike/protocol';
import { configSchema } from '../config/schema.js';
import { answerAndClose } from '../http/raw-answer.js';
import { admitConnection, admitUpgrade, asksForWebSocket, type UpgradeState } from './upgrade.js';

const OPEN: UpgradeState = {
  config: configSchema.parse({ allowedOrigins: ['https://chat.example.com'], limits: { connections: 2 } }),
  keys: new KeyRing([]),
  openConnections: 0,
  connectionsOf: () => 0,
  draining: false,
};
const LOCKED: UpgradeState = {
  ...OPEN,
  keys: new KeyRing([
    { name: 'laptop', tenant: 'a', sha256: createHash('sha256').update('sk-1').digest('hex') },
  ]),
};

async function knock(url: string | undefined, headers: Record<string, string> = {}, state = OPEN) {
  const request = { url, headers: { upgrade: 'websocket', ...headers } } as unknown as IncomingMessage;
  admitUpgrade(request, state);
  const principal = await state.keys.authenticate(request);
  admitConnection(principal, state);
  return principal;
}

async function errorOf(...knocking: Parameters<typeof knock>): Promise<ApiError> {
  try {
    await knock(...knocking);
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
  throw new Error('the upgrade was let in');
}

describe('the path', () => {
  it.each([
    '/v1/responses',
    '/responses',
    '/v1/responses/',
    '/responses/',
    '/v1/responses?model=x',
    '/v1/responses/?a=b?c=/d',
    '/v1/responses?',
  ])('may be %s', async (url) => {
    expect(await knock(url)).toEqual({ tenant: 'local', key: 'open', scopes: ['inference'] });
  });

  it.each([
    '/',
    '//',
    '///',
    '',
    '?',
    '*',
    '/v1',
    '/v1/',
    '/v1//responses',
    '//v1/responses',
    '//example.com/v1/responses',
    '/v1/responsesX',
    '/v1/responses//',
    '/v1/responses/resp_1',
    '/v2/responses',
    '/V1/responses',
    '/v1/../v1/responses',
    '/v1/%72esponses',
    '/v1/responses\\',
    'http://[',
    undefined,
  ])('may not be %j', async (url) => {
    expect((await errorOf(url)).body).toMatchObject({ code: 'not_found' });
    expect((await errorOf(url)).status).toBe(404);
  });

  it('is not repeated where it is long', async () => {
    expect((await errorOf(`/${'x'.repeat(10_000)}`)).message.length).toBeLessThan(100);
  });
});

describe('the decision', () => {
  it.each(['websocket', 'WebSocket', 'WEBSOCKET'])('is about upgrades to %s', (upgrade) => {
    expect(asksForWebSocket({ method: 'GET', headers: { upgrade } })).toBe(true);
  });

  it.each(['h2c', 'websocket2', ''])('is not about an upgrade to %j', (upgrade) => {
    expect(asksForWebSocket({ method: 'GET', headers: { upgrade } })).toBe(false);
  });

  it.each(['POST', 'HEAD', 'OPTIONS'])('is not about a %s, whatever a proxy adds to it', (method) => {
    expect(asksForWebSocket({ method, headers: { upgrade: 'websocket' } })).toBe(false);
  });

  it.each(['12', '99', '12, 13', ''])('is 426 for version %j', async (version) => {
    const { status, code } = await errorOf('/v1/responses', { 'sec-websocket-version': version });
    expect([status, code]).toEqual([426, 'upgrade_required']);
  });

  it.each([
    'rebound.example',
    'rebound.example:8686',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '',
  ])('keeps out who calls an open server %j', async (host) => {
    expect((await errorOf('/v1/responses', { host })).body).toMatchObject({ code: 'origin_not_allowed' });
    expect(await knock('/v1/responses', { host, authorization: 'Bearer sk-1' }, LOCKED)).toBeDefined();
  });

  it.each(['localhost', 'LOCALHOST:80', '127.0.0.1:8686', '127.1.2.3', '[::1]', '[::1]:8686'])(
    'lets in who calls it %j',
    async (host) => {
      expect(await knock('/v1/responses', { host })).toBeDefined();
    },
  );

  it('is 426 where WebSocket is switched off, with a key or without', async () => {
    const state = { ...LOCKED, config: { ...LOCKED.config, websocket: false } };
    expect((await errorOf('/v1/responses', {}, state)).body).toMatchObject({ code: 'upgrade_required' });
    expect((await errorOf('/v1/responses', { authorization: 'Bearer sk-1' }, state)).status).toBe(426);
  });

  it('lets programs in, and pages of allowed origins', async () => {
    expect(await knock('/v1/responses', {})).toBeDefined();
    expect(await knock('/v1/responses', { origin: 'https://chat.example.com' })).toBeDefined();
  });

  it.each([
    'https://evil.example',
    'null',
    'http://chat.example.com',
    'https://chat.example.com.evil.example',
    '',
  ])('keeps pages of %j out', async (origin) => {
    expect((await errorOf('/v1/responses', { origin })).status).toBe(403);
  });

  it('knows who holds a key', async () => {
    expect(await knock('/v1/responses', { authorization: 'Bearer sk-1' }, LOCKED)).toEqual({
      tenant: 'a',
      key: 'laptop',
      scopes: ['inference'],
    });
    expect((await errorOf('/v1/responses', { authorization: 'Bearer sk-2' }, LOCKED)).status).toBe(401);
    expect((await errorOf('/v1/responses', {}, LOCKED)).body).toMatchObject({ code: 'invalid_api_key' });
  });

  it('is no while the server stops, or is full', async () => {
    expect(await errorOf('/v1/responses', {}, { ...OPEN, draining: true })).toMatchObject({
      code: 'server_shutting_down',
      status: 503,
      retryAfter: 1,
    });
    expect(await knock('/v1/responses', {}, { ...OPEN, openConnections: 1 })).toBeDefined();
    expect(await errorOf('/v1/responses', {}, { ...OPEN, openConnections: 2 })).toMatchObject({
      code: 'too_many_connections',
      status: 503,
      retryAfter: 1,
    });
  });

  it('is no while its key has as many connections as one may have', async () => {
    const busy = (count: number) => ({ ...OPEN, connectionsOf: () => count });
    const { connectionsPerKey } = OPEN.config.limits;
    expect(await knock('/v1/responses', {}, busy(connectionsPerKey - 1))).toBeDefined();
    expect(await errorOf('/v1/responses', {}, busy(connectionsPerKey))).toMatchObject({
      code: 'too_many_connections_of_key',
      status: 429,
      retryAfter: 1,
    });
  });

  it('tells a caller without a key nothing about the server', async () => {
    const state = { ...LOCKED, draining: true, openConnections: 9 };
    expect((await errorOf('/v1/responses', {}, state)).status).toBe(401);
  });
});

describe('answerAndClose', () => {
  /** The answer, as lines of its head and its body. */
  async function answerTo(error: ApiError) {
    const socket = new PassThrough();
    const answer = text(socket);
    answerAndClose(socket, error);
    expect(socket.writableEnded).toBe(true);
    const [head = '', body = ''] = (await answer).split('\r\n\r\n');
    const [status, ...lines] = head.split('\r\n');
    const headers = Object.fromEntries(lines.map((line) => line.split(': ') as [string, string]));
    return { status, headers, body };
  }

  it('is a complete HTTP answer', async () => {
    const error = new ApiError('not_found', { message: 'Nothing at ‘here’.' });
    const { status, headers, body } = await answerTo(error);
    expect(status).toBe('HTTP/1.1 404 Not Found');
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
    });
    expect(headers['x-request-id']).toMatch(/^req_[0-9a-f]{48}$/);
    expect(JSON.parse(body)).toEqual({ error: error.body });
  });

  it('names the wait, and the protocol that is asked for', async () => {
    const { headers: full } = await answerTo(new ApiError('too_many_connections', { retryAfter: 1 }));
    expect(full['retry-after']).toBe('1');
    const { status, headers } = await answerTo(new ApiError('upgrade_required'));
    expect([status, headers['upgrade']]).toEqual(['HTTP/1.1 426 Upgrade Required', 'websocket']);
  });
});
