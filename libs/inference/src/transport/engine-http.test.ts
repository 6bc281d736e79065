import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { begin, sse, tokens } from '../../testing/fake-engine.js';
import { cleanUp, clientFor, codeOf, drain, idsOf, NEVER, REQUEST, setUp } from '../../testing/harness.js';
import { EngineHttp } from './engine-http.js';
import { readText } from './read-text.js';

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}';

afterEach(cleanUp);

/** A server of plain TCP that treats each request on a connection as it is told. */
class RawServer {
  readonly #server: Server;
  readonly sockets = new Set<Socket>();
  /** Requests, each by its place on its connection. */
  readonly requests: number[] = [];

  constructor(onRequest: (socket: Socket, place: number) => void) {
    this.#server = createServer((socket) => {
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      let place = 0;
      socket.on('data', () => {
        this.requests.push(place);
        onRequest(socket, place++);
      });
    });
  }

  async start(): Promise<EngineHttp> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const { port } = this.#server.address() as AddressInfo;
    return new EngineHttp({ url: `http://127.0.0.1:${port}`, idleTimeoutMs: 60_000 });
  }

  async stop(http: EngineHttp): Promise<void> {
    await http.close();
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Sends one small request and reads its answer. */
async function ask(http: EngineHttp): Promise<string> {
  const answer = await http.post('/x', [Buffer.from('{}')], NEVER);
  const text = await readText(answer.body, 1_000);
  // The connection counts as free a moment later.
  await new Promise((resolve) => setImmediate(resolve));
  return text;
}

describe('a request that is ended', () => {
  const HEAD = 'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n';

  /** What arrives when a request is ended that this server answers; the server is told by the end of the connection. */
  async function endedAgainst(onRequest: (socket: Socket) => void, onEnd: (socket: Socket) => void) {
    const sockets: Socket[] = [];
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      sockets.push(socket);
      socket.on('error', () => undefined);
      socket.once('data', () => onRequest(socket));
      socket.once('end', () => onEnd(socket));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const http = new EngineHttp({ url: `http://127.0.0.1:${port}`, idleTimeoutMs: 60_000 });
    const reason = new Error('the client left');
    const gone = new AbortController();
    let arrived = '';
    try {
      setTimeout(() => gone.abort(reason), 50);
      const { body } = await http.post('/x', [Buffer.from('{}')], gone.signal);
      await expect(
        (async () => {
          for await (const bytes of body) arrived += bytes.toString();
        })(),
      ).rejects.toBe(reason);
    } finally {
      await http.close();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    }
    return arrived;
  }

  it('still gives what the engine had written by the time it was told', async () => {
    const arrived = await endedAgainst(
      (socket) => socket.write(`${HEAD}one`),
      (socket) => socket.end(',two'),
    );
    expect(arrived).toBe('one,two');
  });

  it('gives it too where the answer has not begun yet', async () => {
    const arrived = await endedAgainst(
      () => undefined,
      (socket) => socket.end(`${HEAD}one`),
    );
    expect(arrived).toBe('one');
  });

  it('is closed altogether by an engine that does not close', async () => {
    const arrived = await endedAgainst(
      (socket) => socket.write(`${HEAD}one`),
      () => undefined,
    );
    expect(arrived).toBe('one');
  });
});

describe('D06: a kept connection that the engine has closed', () => {
  it.each([
    ['by a reset', (socket: Socket) => socket.resetAndDestroy()],
    ['by an end', (socket: Socket) => socket.end()],
  ])('%s is noticed, and the request sent once more on a new one', async (_, close) => {
    const server = new RawServer((socket, place) => {
      if (place === 0) socket.write(ANSWER);
      else close(socket);
    });
    const http = await server.start();
    for (let turn = 0; turn < 20; turn++) expect(await ask(http)).toBe('{}');
    // The first request of each connection was answered; each other one met a dead connection, once.
    expect(server.requests.filter((place) => place === 0)).toHaveLength(20);
    expect(server.requests.filter((place) => place === 1)).toHaveLength(19);
    await server.stop(http);
  });

  it('is not asked again once a byte of an answer has come', async () => {
    const server = new RawServer((socket, place) => {
      socket.write(place === 0 ? ANSWER : 'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhalf');
      if (place > 0) socket.end();
    });
    const http = await server.start();
    await ask(http);
    await expect(ask(http)).rejects.toThrow();
    expect(server.requests).toEqual([0, 1]);
    await server.stop(http);
  });

  it('and a new one that is closed as well is an error', async () => {
    let answers = 1;
    const server = new RawServer((socket) => {
      if (answers-- > 0) socket.write(ANSWER);
      else socket.destroy();
    });
    const http = await server.start();
    await ask(http);
    await expect(ask(http)).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(server.requests).toEqual([0, 1, 0]);
    await server.stop(http);
  });
});

describe('D05: an engine that takes its time', () => {
  const MINUTES = 60_000;

  beforeEach(() => {
    // Real sockets, and a clock that a test turns.
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'clearImmediate', 'queueMicrotask'] });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** Lets what is on its way arrive. */
  const settle = async () => {
    for (let round = 0; round < 200; round++) await new Promise((resolve) => setImmediate(resolve));
  };

  it('before its headers and between its tokens is waited for', async () => {
    const steps: (() => void)[] = [];
    const wait = () => new Promise<void>((resolve) => steps.push(resolve));
    const { client } = await setUp(
      async ({ response }) => {
        await wait();
        begin(response);
        response.write(sse(tokens([1])));
        await wait();
        response.end(sse(tokens([2], 'stop')));
      },
      { idleTimeoutMs: 10 * MINUTES },
    );
    const answer = drain(client);
    for (let step = 0; step < 2; step++) {
      while (steps.length <= step) await settle();
      await jest.advanceTimersByTimeAsync(9 * MINUTES);
      steps[step]?.();
      await settle();
    }
    const { chunks, error } = await answer;
    expect([idsOf(chunks), error]).toEqual([[1, 2], undefined]);
  });

  it.each([
    ['before its headers', 0],
    ['between its tokens', 1],
  ])('is given up at the limit, %s, and told', async (_, written) => {
    const { engine, client } = await setUp(
      ({ response }) => {
        if (written === 0) return;
        begin(response);
        response.write(sse(tokens([1])));
      },
      { idleTimeoutMs: 10 * MINUTES },
    );
    const answer = drain(client, REQUEST);
    while (engine.requests.length === 0) await settle();
    await settle();
    await jest.advanceTimersByTimeAsync(10 * MINUTES + 1);
    const { chunks, error } = await answer;
    expect([idsOf(chunks), codeOf(error)]).toEqual([written === 0 ? [] : [1], 'engine_timeout']);
    await engine.requests[0]?.aborted;
  });

  it('that is a machine which answers no call is given up soon: nothing has reached it', async () => {
    // A process that takes no connections, and whose queue of them is full.
    const script = `const server = require('node:net').createServer().listen(0, '127.0.0.1', 1, () => {
      require('node:fs').writeSync(1, String(server.address().port));
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    })`;
    const process = spawn(globalThis.process.execPath, ['-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [port] = (await once(process.stdout, 'data')) as [Buffer];
    const others = Array.from({ length: 4 }, () => connect(Number(port), '127.0.0.1'));
    for (const other of others) other.on('error', () => undefined);
    await settle();
    const answer = drain(clientFor(`http://127.0.0.1:${String(port)}`, { idleTimeoutMs: 10 * MINUTES }));
    await settle();
    await jest.advanceTimersByTimeAsync(5_001);
    expect(codeOf((await answer).error)).toBe('engine_unavailable');
    for (const other of others) other.destroy();
    process.kill('SIGKILL');
  });

  it('is not blamed for a consumer that takes its time', async () => {
    const { client } = await setUp(
      ({ response }) => {
        begin(response);
        response.write(sse(tokens([1])));
        setImmediate(() => response.end(sse(tokens([2], 'stop'))));
      },
      { idleTimeoutMs: 1_000 },
    );
    const ids: number[] = [];
    for await (const chunk of client.generate(REQUEST, NEVER)) {
      ids.push(...chunk.ids);
      await settle();
      await jest.advanceTimersByTimeAsync(60 * MINUTES);
    }
    expect(ids).toEqual([1, 2]);
  });
});
