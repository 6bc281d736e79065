import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, FAST, MAIN, startGateway } from './platform.js';
import { SocketClient } from './socket-client.js';

let engine: App;
let app: Awaited<ReturnType<typeof startGateway>>;

beforeAll(async () => {
  engine = await App.start('engine', ['--port', '0', '--model', 'sim', '--context', '1000000', ...FAST]);
  app = await startGateway(engine.url, [
    'allowedOrigins: ["https://chat.example.com"]',
    'store: { kind: memory }',
    'limits: { storeBytes: 1000000, sendTimeoutMs: 300, connections: 1 }',
  ]);
});
afterAll(async () => {
  await app.stop();
  await engine.stop();
  app.cleanUp();
});

/** Everything the server answers to these bytes until it closes the connection. */
async function raw(text: string): Promise<string> {
  const socket = connect({ port: Number(new URL(app.url).port), host: '127.0.0.1', allowHalfOpen: true });
  let answer = '';
  socket.on('data', (data: Buffer) => (answer += data.toString()));
  socket.on('error', () => undefined);
  socket.write(text);
  // This end stays open; only a server that has let go of the connection resets it when more comes.
  const more = setInterval(() => socket.write('x'), 100);
  await new Promise((resolve) => socket.once('close', resolve));
  clearInterval(more);
  return answer;
}

/** Status and error code of a request with these headers. */
async function ask(method: string, path: string, headers: Record<string, string> = {}, body?: string) {
  const sent = request(app.url + path, { method, headers });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const part of answer) text += String(part);
  const { error } = (text === '' ? {} : JSON.parse(text)) as { error?: { code: string } };
  return { status: answer.statusCode, code: error?.code, allow: answer.headers.allow };
}

describe('a web page', () => {
  const body = JSON.stringify({ model: 'sim', input: 'x' });

  it.each([
    ['of another site', { origin: 'https://evil.example', 'content-type': 'text/plain' }],
    ['whose name was made to mean this machine', { host: 'rebound.example:8686' }],
  ])('%s may use no route but /health', async (_, headers) => {
    for (const [method, path] of [
      ['POST', '/v1/responses'],
      ['POST', '/responses'],
      ['GET', '/v1/models'],
      ['DELETE', '/v1/responses/resp_1'],
    ] as const) {
      const answer = await ask(method, path, headers, method === 'POST' ? body : undefined);
      expect(answer).toMatchObject({ status: 403, code: 'origin_not_allowed' });
    }
    expect(await ask('GET', '/health', headers)).toMatchObject({ status: 200 });
    const upgrade = { connection: 'upgrade', upgrade: 'websocket', ...headers };
    expect(await ask('GET', '/v1/responses', upgrade)).toMatchObject({ status: 403 });
  });

  it('of an allowed origin may, and so may programs, by any name of this machine', async () => {
    const headers = [{ origin: 'https://chat.example.com' }, { host: 'localhost' }, { host: '[::1]:9000' }];
    for (const each of headers) expect((await ask('POST', '/v1/responses', each, body)).status).toBe(200);
  });
});

describe('a method that an address does not take', () => {
  it.each([
    ['PUT', '/v1/responses', 'GET, POST'],
    ['DELETE', '/responses', 'GET, POST'],
    ['PATCH', '/v1/responses/input_tokens', 'POST'],
    ['POST', '/v1/responses/resp_1', 'GET, DELETE'],
    ['POST', '/v1/responses/resp_1/input_items', 'GET'],
    ['POST', '/v1/models', 'GET'],
    ['DELETE', '/v1/models/sim', 'GET'],
    ['POST', '/health', 'GET'],
  ])('is refused: %s %s', async (method, path, allow) => {
    expect(await ask(method, path)).toEqual({ status: 405, code: 'method_not_allowed', allow });
  });

  it('is another thing than an address where nothing is', async () => {
    expect(await ask('PUT', '/v1/nowhere')).toMatchObject({ status: 404, code: 'not_found' });
    expect(await ask('GET', '/v1/models/%E0%A4%A')).toMatchObject({ status: 404, code: 'not_found' });
  });
});

describe('what Node itself would refuse', () => {
  const POST = 'POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n';

  it.each([
    ['another method', 'BREW /v1/responses HTTP/1.1\r\nHost: localhost\r\n\r\n', 400, 'invalid_http'],
    ['no HTTP', 'hello\r\n\r\n', 400, 'invalid_http'],
    ['no Host', 'GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'invalid_http'],
    ['no Host, of the health', 'GET /health HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'invalid_http'],
    ['an expectation', `${POST}Expect: a-coffee\r\nContent-Length: 0\r\n\r\n`, 417, 'expectation_failed'],
    ['large headers', `${POST}X: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
    ['two lengths', `${POST}Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx`, 400, 'invalid_http'],
  ])('is answered with JSON and a request id: %s', async (_, request, status, code) => {
    const [head = '', body = ''] = (await raw(request)).split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(head).toMatch(/^x-request-id: req_\w+$/im);
    expect(JSON.parse(body)).toMatchObject({ error: { code } });
  });

  it('is not put into an answer that has begun', async () => {
    const body = JSON.stringify({ model: 'sim', stream: true, input: 'x [sim reason=0 stall=60000]' });
    const head = `${POST.replace('close', 'keep-alive')}Content-Length: ${body.length}\r\n\r\n`;
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
    let answer = '';
    socket.on('data', (data: Buffer) => {
      answer += data.toString();
      if (answer.includes('output_text.delta')) socket.write('hello\r\n\r\n');
    });
    socket.write(head + body);
    await once(socket, 'close');
    expect(answer).not.toContain('invalid_http');
  });
});

describe('what a list is asked to include', () => {
  it.each([
    '/v1/responses/resp_1/input_items',
    '/v1/responses/resp_1',
    '/v1/conversations/conv_1/items',
    '/v1/conversations/conv_1/items/msg_1',
  ])('has to be something that there is: %s', async (path) => {
    for (const [query, param] of [
      ['include=everything', 'include[0]'],
      ['include[]=reasoning.encrypted_content&include[]=x', 'include[1]'],
      ['include%5B2%5D=x', 'include[2]'],
    ] as const) {
      const answer = await fetch(`${app.url}${path}?${query}`);
      expect(answer.status).toBe(400);
      expect(await answer.json()).toMatchObject({ error: { code: 'invalid_value', param } });
    }
    const known = await fetch(
      `${app.url}${path}?include[]=reasoning.encrypted_content&include=message.output_text.logprobs`,
    );
    expect(known.status).toBe(404);
  });
});

describe('an upgrade', () => {
  const HEAD =
    'GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n';

  it('to another protocol is passed over: the request is served', async () => {
    const body = JSON.stringify({ model: 'sim', input: 'x' });
    const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABk' };
    expect(await ask('POST', '/v1/responses', headers, body)).toMatchObject({ status: 200 });
  });

  it('that ws does not take is answered as JSON', async () => {
    const answer = await raw(`${HEAD}\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({ error: { code: 'invalid_value' } });
  });

  it('is a GET: a request of another method is served, whatever a proxy adds to it', async () => {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    };
    const body = JSON.stringify({ model: 'sim', input: 'x' });
    expect(await ask('POST', '/v1/responses', headers, body)).toMatchObject({ status: 200 });
    expect(await ask('HEAD', '/v1/responses', headers)).toMatchObject({ status: 426 });
  });

  it('to another version is told which one there is', async () => {
    const answer = await raw(`${HEAD}Sec-WebSocket-Version: 99\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 426 .*sec-websocket-version: 13\r\n/is);
  });

  it('takes HTTP/1.1', async () => {
    const key = 'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
    expect(await raw(`${HEAD.replace('HTTP/1.1', 'HTTP/1.0')}${key}\r\n`)).toMatch(/^HTTP\/1\.1 426 /);
  });

  it('that was refused is closed by the server, also when the client keeps its end open', async () => {
    expect(await raw(HEAD.replace('/v1/responses', '/nowhere') + '\r\n')).toMatch(/^HTTP\/1\.1 404 /);
  });

  it('beyond the limit is refused with the status that makes agents use HTTP', async () => {
    const client = await SocketClient.connect(app.url);
    await expect(SocketClient.connect(app.url)).rejects.toThrow('503');
    client.close();
    await client.untilClosed();
  });
});

describe('an answer', () => {
  it.each([false, true])('whose rest is not read is given up (stream: %s)', async (stream) => {
    const body = JSON.stringify({
      model: 'sim',
      stream,
      store: false,
      user: 'u'.repeat(12_000_000),
      input: 'x',
    });
    const socket = connect({ port: Number(new URL(app.url).port), host: '127.0.0.1' });
    socket.on('error', () => undefined);
    socket.write(
      `POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    // Not read: the server's side is gone when reading, late, ends before the answer does.
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    let length = 0;
    socket.on('data', (data: Buffer) => (length += data.length));
    await new Promise((resolve) => socket.once('close', resolve));
    expect(length).toBeGreaterThan(0);
    expect(length).toBeLessThan(12_000_000);
  });
});

describe('a memory budget', () => {
  it('counts what a response holds beside its items', async () => {
    const make = async () => {
      const body = JSON.stringify({
        model: 'sim',
        input: 'x',
        generate: false,
        tools: [{ type: 'web_search', note: 'n'.repeat(300_000) }],
      });
      const answer = await fetch(`${app.url}/v1/responses`, { method: 'POST', body });
      return ((await answer.json()) as { id: string }).id;
    };
    const [first, second] = [await make(), await make()];
    expect((await ask('GET', `/v1/responses/${first}`)).status).toBe(404);
    expect((await ask('GET', `/v1/responses/${second}`)).status).toBe(200);
  });
});

describe('a start that cannot work', () => {
  const CONFIGURED = ['--config', 'c.yaml'];

  it.each<[string, { PORT: () => string }, string[], string, string?]>([
    ['a port in use', { PORT: () => new URL(app.url).port }, [], 'something else listens there'],
    ['options the engine does not know', { PORT: () => '0' }, ['--sim=--bogus'], '--sim holds its options'],
    [
      'keys that are none',
      { PORT: () => '0' },
      CONFIGURED,
      'must hold sealing keys',
      'sealingKeyFile: c.yaml',
    ],
    [
      'a store that is none',
      { PORT: () => '0' },
      CONFIGURED,
      'The store cannot be opened',
      'store: { kind: sqlite, path: c.yaml }',
    ],
    [
      'a file where journals go',
      { PORT: () => '0' },
      CONFIGURED,
      'billing.journal: c.yaml cannot be used: EEXIST',
      'billing: { journal: c.yaml }',
    ],
    [
      'journals below a file',
      { PORT: () => '0' },
      CONFIGURED,
      'billing.journal: c.yaml/of/a/file cannot be used: ENOTDIR',
      'billing: { journal: c.yaml/of/a/file }',
    ],
  ])('says why, without a stack: %s', async (_, { PORT }, args, said, config = '') => {
    const cwd = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
    writeFileSync(join(cwd, 'c.yaml'), config);
    const child = spawn(process.execPath, [MAIN.gateway, ...args], { env: { PORT: PORT() }, cwd });
    let output = '';
    child.stderr.on('data', (data: Buffer) => (output += data.toString()));
    const [code] = (await once(child, 'exit')) as [number];
    rmSync(cwd, { recursive: true, force: true });
    expect(code).toBe(2);
    expect(output.trimEnd().split('\n').at(-1)).toContain(said);
    expect(output).not.toMatch(/\n\s+at /);
    rmSync(cwd, { recursive: true, force: true });
  });
});
