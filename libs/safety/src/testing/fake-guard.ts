import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the guard answers to a request: a status and JSON, text that is none, or nothing at all. */
export type GuardAnswer = { status?: number; json?: unknown; text?: string } | 'hang' | 'cut';

/** A classifier of the test's own. */
export class FakeGuard {
  readonly #server: Server;
  readonly url: string;
  /** Bodies of all requests. */
  readonly requests: Record<string, unknown>[] = [];
  connections = 0;
  answer: (path: string, body: Record<string, unknown>) => GuardAnswer | Promise<GuardAnswer>;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    this.answer = () => ({ json: {} });
    server.on('connection', () => (this.connections += 1));
    server.on('request', (request, response) => {
      let text = '';
      request.on('data', (part: Buffer) => (text += part.toString()));
      request.on('end', () => {
        const body = JSON.parse(text) as Record<string, unknown>;
        this.requests.push(body);
        void Promise.resolve(this.answer(request.url ?? '', body)).then((answer) => {
          if (answer === 'hang') return;
          if (answer === 'cut') {
            // The connection ends in the middle of an answer that says how long it is.
            response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
            response.write('{"results":[', () => response.destroy());
            return;
          }
          response.writeHead(answer.status ?? 200, { 'content-type': 'application/json' });
          response.end(answer.text ?? JSON.stringify(answer.json));
        });
      });
    });
  }

  static async start(): Promise<FakeGuard> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new FakeGuard(server);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** An answer of `/moderations` for these texts. */
export function moderationOf(input: readonly string[], isBad: (text: string) => boolean): GuardAnswer {
  const results = input.map((text) => ({
    flagged: isBad(text),
    category_scores: { 'illicit/violent': isBad(text) ? 0.97 : 0.01 },
  }));
  return { json: { id: 'm', model: 'm', results } };
}

/** An answer of a chat model. */
export function spoken(content: string): GuardAnswer {
  return { json: { choices: [{ message: { role: 'assistant', content } }] } };
}
