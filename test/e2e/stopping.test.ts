import { afterEach, beforeAll, afterAll, describe, expect, it } from '@jest/globals';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { App, FAST, MAIN, startGateway } from './platform.js';
import { SocketClient } from './socket-client.js';

type Gateway = Awaited<ReturnType<typeof startGateway>>;

let engine: App;
const started: Gateway[] = [];
const sockets: Socket[] = [];

beforeAll(async () => {
  engine = await App.start('engine', ['--port', '0', '--model', 'sim', '--context', '1000000', ...FAST]);
});
afterAll(() => engine.stop());
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const gateway of started.splice(0)) {
    await gateway.stop();
    gateway.cleanUp();
  }
});

async function gateway(limits: string): Promise<Gateway> {
  const app = await startGateway(engine.url, [`limits: ${limits}`]);
  started.push(app);
  return app;
}

/** A TCP connection that has sent `text`, reads only when told to, and never closes by itself. */
async function tcp({ url }: Gateway, text = '', reads = true): Promise<Socket> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true });
  sockets.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  if (reads) socket.resume();
  socket.write(text);
  return socket;
}

const HEAD = 'POST /v1/responses HTTP/1.1\r\nHost: localhost\r\n';
const STREAM = JSON.stringify({ model: 'sim', stream: true, input: 'x [sim stall=60000 tokens=40]' });

describe('a gateway that is told to stop', () => {
  it.each([
    ['a connection that has sent nothing', ''],
    ['half a head', HEAD],
    ['half a body', `${HEAD}Content-Length: 100\r\n\r\n{"model"`],
    ['a stream that goes on', `${HEAD}Content-Length: ${STREAM.length}\r\n\r\n${STREAM}`],
    [
      'a refused upgrade that the client keeps open',
      'GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
    ],
  ])('ends in spite of %s', async (_, text) => {
    const app = await gateway('{ drainMs: 200 }');
    await tcp(app, text);
    // What was sent has arrived when a later request has been answered.
    await fetch(`${app.url}/health`);
    app.signal('SIGTERM');
    expect(await app.ended()).toBe(0);
  });

  it('lets a slow reader have all of its turn', async () => {
    const app = await gateway('{}');
    const client = await SocketClient.connect(app.url);
    client.socket.pause();
    client.send({
      type: 'response.create',
      model: 'sim',
      input: `${'many words '.repeat(5_000)} [sim tokens=20000]`,
    });
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    app.signal('SIGTERM');
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    client.socket.resume();
    expect((await client.untilClosed()).code).toBe(1012);
    expect(client.events.at(-1)?.type).toBe('response.completed');
    expect(await app.ended()).toBe(0);
  });

  it('takes no new work on any route, says so to load balancers, and logs nothing alarming', async () => {
    const app = await gateway('{}');
    const client = await SocketClient.connect(app.url);
    client.send({ type: 'response.create', model: 'sim', input: 'x [sim stall=1500 tokens=40]' });
    await client.until(() => client.events.some(({ type }) => type.endsWith('.delta')));
    const more = await Promise.all(Array.from({ length: 12 }, () => SocketClient.connect(app.url)));
    app.signal('SIGTERM');
    await more[0]?.untilClosed();
    for (const [path, method] of [
      ['/health', 'GET'],
      ['/v1/responses', 'POST'],
      ['/v1/responses/input_tokens', 'POST'],
      ['/v1/responses/resp_1', 'GET'],
    ] as const) {
      // A connection that is kept alive could be closed as idle just when it is used again.
      const headers = { connection: 'close' };
      const answer = await fetch(app.url + path, {
        method,
        headers,
        ...(method === 'POST' && { body: '{}' }),
      });
      expect([path, answer.status]).toEqual([path, 503]);
      expect(await answer.json()).toMatchObject({ error: { code: 'server_shutting_down' } });
    }
    await client.untilClosed();
    expect(await app.ended()).toBe(0);
    expect(app.output()).not.toMatch(/"level":50|MaxListenersExceededWarning/);
  });
});

describe('a connection with many lanes', () => {
  it('makes the process warn of nothing', async () => {
    const app = await gateway('{}');
    const client = await SocketClient.connect(app.url);
    for (let lane = 0; lane < 16; lane++) {
      client.send({
        type: 'response.create',
        model: 'sim',
        input: 'x [sim stall=200]',
        stream_id: `s${lane}`,
      });
    }
    await client.until(() => client.events.filter(({ type }) => type === 'response.completed').length === 16);
    client.close();
    expect(app.output()).not.toContain('MaxListenersExceededWarning');
  });

  it('is refused what waits with too many bytes', async () => {
    const app = await gateway('{ queuedBytes: 10000 }');
    const client = await SocketClient.connect(app.url);
    const send = (input: string) => client.send({ type: 'response.create', model: 'sim', input });
    send('x [sim stall=300 tokens=20]');
    send('y'.repeat(8_000));
    send('z'.repeat(8_000));
    await client.until(() => client.events.filter(({ type }) => type === 'response.completed').length === 2);
    expect(client.events.filter(({ type }) => type === 'error')).toMatchObject([
      { status: 429, headers: { 'retry-after': '1' }, error: { code: 'too_many_queued_responses' } },
    ]);
    client.close();
  });
});

describe('the built-in engine', () => {
  it('leaves Ctrl-C, which reaches the whole group, to the gateway that still needs it', async () => {
    const child = fork(MAIN.engine, ['--port', '0', '--model', 'sim'], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const [{ url }] = (await once(child, 'message')) as [{ url: string }];
    child.kill('SIGINT');
    expect((await fetch(`${url}/v1/models`)).status).toBe(200);
    child.disconnect();
    await once(child, 'exit');
  });
});
