import { Agent as HttpAgent, request as sendHttp, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as sendHttps } from 'node:https';
import type { Socket } from 'node:net';
import { ApiError } from '@turnpike/protocol';
import { AnswerBody } from './answer-body.js';
import { unpacked } from './unpacked.js';
import { Watchdog } from './watchdog.js';

export interface EngineHttpOptions {
  /** Base URL of the server, without `/v1`. */
  readonly url: string;
  /** Longest wait for the first byte and between bytes, in ms: long prefills are silent. */
  readonly idleTimeoutMs: number;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** An answer whose body has not been read yet. */
export interface EngineAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** Pulled; leaving the iteration before its end closes the connection. */
  readonly body: AsyncIterable<Buffer>;
  /** What matters has come: from now on silence of so many ms ends the answer. */
  closing(waitMs: number): void;
}

/**
 * How long an idle connection is kept, in ms: uvicorn closes it after 5 s, and it is given up before that, so that none is
 * found dead. A server that asks for less by its `Keep-Alive` header gets that.
 */
const KEEP_ALIVE_MS = 4_000;
/** How long a connection may take to be made, in ms: a machine that is switched off answers no call, and nobody says so. */
const CONNECT_MS = 5_000;
/** How long a request may take that nobody waits for, in ms. */
const NOTICE_MS = 5_000;
/** How long an engine that is told to stop may take to close the connection from its side, in ms. */
const DRAIN_MS = 1_000;
/** Errors of a connection that the other side had closed. */
const CLOSED = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED']);

/** A request on a kept connection that was dead: not a byte came back. */
class DeadConnection extends Error {}

/**
 * HTTP to one engine. Connections are kept and shared; there is no limit on how long an answer may take, only on silence.
 * A request that meets a kept connection which the engine had just closed is sent once more, on a new one.
 */
export class EngineHttp {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #idleTimeoutMs: number;
  readonly #agent: HttpAgent;
  readonly #send: typeof sendHttp;
  /** The event of a socket that can be written to. */
  readonly #connected: 'connect' | 'secureConnect';

  constructor({ url, idleTimeoutMs, headers }: EngineHttpOptions) {
    this.#url = url.replace(/\/+$/, '');
    this.#headers = headers ?? {};
    this.#idleTimeoutMs = idleTimeoutMs;
    const secure = this.#url.startsWith('https:');
    // Of an agent the timeout closes idle connections only; a request in flight is not affected by it.
    const options = { keepAlive: true, timeout: KEEP_ALIVE_MS };
    this.#agent = guarded(secure ? new HttpsAgent(options) : new HttpAgent(options));
    this.#send = secure ? sendHttps : sendHttp;
    this.#connected = secure ? 'secureConnect' : 'connect';
  }

  /**
   * Sends JSON. When `signal` ends, so does the engine's work; what it had written by then is still in the body, which
   * fails behind it.
   * @param pieces bytes of the body; they are written as they are
   * @throws what `signal` was ended with; otherwise the error of the connection, or ApiError engine_timeout
   */
  async post(path: string, pieces: readonly Buffer[], signal: AbortSignal): Promise<EngineAnswer> {
    try {
      return await this.#request('POST', path, pieces, signal);
    } catch (thrown) {
      if (!(thrown instanceof DeadConnection) || signal.aborted) throw causeOf(thrown, signal);
    }
    // The others in the pool are as old as the one that was dead.
    for (const sockets of Object.values(this.#agent.freeSockets)) {
      for (const socket of sockets ?? []) socket.destroy();
    }
    try {
      return await this.#request('POST', path, pieces, signal);
    } catch (thrown) {
      throw causeOf(thrown, signal);
    }
  }

  /** @throws as {@link post} does */
  async get(path: string, signal: AbortSignal): Promise<EngineAnswer> {
    try {
      return await this.#request('GET', path, [], signal);
    } catch (thrown) {
      throw causeOf(thrown, signal);
    }
  }

  /** Sends JSON that nobody waits for. Whatever becomes of it is passed over. */
  notify(path: string, body: unknown): void {
    const signal = AbortSignal.timeout(NOTICE_MS);
    this.post(path, [Buffer.from(JSON.stringify(body))], signal)
      .then(async (answer) => {
        for await (const bytes of answer.body) void bytes;
      })
      .catch(() => undefined);
  }

  close(): Promise<void> {
    this.#agent.destroy();
    return Promise.resolve();
  }

  #request(
    method: string,
    path: string,
    pieces: readonly Buffer[],
    signal: AbortSignal,
  ): Promise<EngineAnswer> {
    if (signal.aborted) return Promise.reject(signal.reason as Error);
    const length = pieces.reduce((bytes, piece) => bytes + piece.length, 0);
    const content = method === 'POST' ? { 'content-type': 'application/json', 'content-length': length } : {};
    return new Promise((resolve, reject) => {
      const request = this.#send(this.#url + path, {
        method,
        agent: this.#agent,
        headers: { ...this.#headers, ...content },
      });
      const watchdog = new Watchdog(this.#idleTimeoutMs, () =>
        request.destroy(new ApiError('engine_timeout')),
      );
      request.once('socket', (socket) => giveUpConnecting(request, socket, this.#connected));
      let body: AnswerBody | undefined;
      let drain: NodeJS.Timeout | undefined;
      const onAbort = () => {
        const end = () => request.destroy(signal.reason as Error);
        const { socket, writableFinished } = request;
        body?.drain();
        if (method !== 'POST' || !writableFinished || socket === null || socket.connecting) return void end();
        // Closed one way: the engine stops at that, and what it had written by then still arrives, and is counted.
        socket.end();
        drain = setTimeout(end, DRAIN_MS);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      request.once('close', () => {
        watchdog.stop();
        clearTimeout(drain);
        signal.removeEventListener('abort', onAbort);
      });
      let answered = false;
      request.once('response', (response) => {
        answered = true;
        watchdog.rest();
        const { statusCode: status = 0, headers } = response;
        body = new AnswerBody(request, unpacked(response), watchdog, signal);
        if (signal.aborted) body.drain();
        resolve({ status, headers, body, closing: (waitMs) => watchdog.shorten(waitMs) });
      });
      // Kept for as long as the request: one that fails behind its answer has nobody else to listen.
      request.on('error', (error: NodeJS.ErrnoException) => {
        const dead = request.reusedSocket && !answered && CLOSED.has(error.code ?? '');
        reject(dead ? new DeadConnection('', { cause: error }) : error);
      });
      watchdog.wait();
      for (const piece of pieces) request.write(piece);
      request.end();
    });
  }
}

/** Ends a request whose connection is not made in time, as one that has reached nobody. */
function giveUpConnecting(request: ClientRequest, socket: Socket, connected: string): void {
  if (!socket.connecting) return;
  const limit = setTimeout(
    () => request.destroy(Object.assign(new Error('no connection'), { code: 'ETIMEDOUT' })),
    CONNECT_MS,
  );
  for (const event of [connected, 'close']) socket.once(event, () => clearTimeout(limit));
}

/**
 * The agent, of whose connections no error is ever without a listener. Node takes its own away when an answer has ended, which
 * a request that is destroyed makes one do that has come whole and was not read to its end: the error of its connection comes
 * behind that, and would end the process. Requests hear of errors by listeners of their own.
 */
function guarded<T extends HttpAgent>(agent: T): T {
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    const connection = connect(options, callback);
    connection?.on('error', () => undefined);
    return connection;
  };
  return agent;
}

/** What a caller is told: that it ended the request itself, or what the connection failed with. */
function causeOf(thrown: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  return thrown instanceof DeadConnection ? thrown.cause : thrown;
}
