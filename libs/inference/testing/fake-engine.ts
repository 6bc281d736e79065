import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request as the fake engine saw it. */
export interface SeenRequest {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  readonly response: ServerResponse;
  /** Resolves when the connection below the answer is gone before the answer ended. */
  readonly aborted: Promise<void>;
}

/** An engine whose answers a test writes by hand. What it is asked by GET it does not have, unless it is in `pages`. */
export class FakeEngine {
  /** Requests by POST. */
  readonly requests: SeenRequest[] = [];
  /** What is there for GET: a status, JSON, or bytes as they are; a function gives one of them, also later. */
  readonly pages = new Map<string, unknown>();
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(answer: (seen: SeenRequest) => void | Promise<void>): Promise<FakeEngine> {
    const server = createServer();
    const engine = new FakeEngine(server);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const aborted = new Promise<void>((resolve) => {
        response.on('close', () => {
          if (!response.writableFinished) resolve();
        });
      });
      if (request.method === 'GET') {
        void show(engine.pages.get(request.url ?? '') ?? 404, response);
        return;
      }
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const { method, url: path, headers } = request;
        const seen = {
          method,
          path,
          headers,
          body: Buffer.concat(parts).toString('utf8'),
          response,
          aborted,
        };
        engine.requests.push(seen);
        void answer(seen);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return engine;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Takes no further connections; answers that are under way go on. */
  refuse(): void {
    this.#server.close();
  }

  /** Ends it with all its connections. */
  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

async function show(wanted: unknown, response: ServerResponse): Promise<void> {
  const page: unknown = typeof wanted === 'function' ? await (wanted as () => unknown)() : wanted;
  response.writeHead(typeof page === 'number' ? page : 200, { 'content-type': 'application/json' });
  response.end(Buffer.isBuffer(page) ? page : JSON.stringify(page));
}

/** Begins a stream of events. */
export function begin(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
}

/** Events as they stand on the wire; a string is taken as it is. */
export function sse(...events: unknown[]): string {
  return events
    .map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
    .join('');
}

/** An event with sampled ids, as vLLM sends it. */
export function tokens(ids: readonly number[], finish: string | null = null) {
  return {
    id: 'cmpl-1',
    choices: [{ index: 0, text: 'x', finish_reason: finish, stop_reason: null, token_ids: ids }],
  };
}
