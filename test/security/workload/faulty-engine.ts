import { expect } from '@jest/globals';
import { o200kHarmony } from '@turnpike/formats';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { user, type Run } from './run.js';

type Fault = (response: ServerResponse, quote: string, ids: readonly number[]) => void;

const json = (status: number, body: unknown): Fault => {
  return (response, quote, ids) => {
    response.writeHead(status, {
      'content-type': 'application/json',
      'x-prompt': ids.slice(0, 400).join(','),
    });
    response.end(JSON.stringify(body).replaceAll('QUOTE', JSON.stringify(quote).slice(1, -1)));
  };
};
const sse = (...events: readonly string[]): Fault => {
  return (response, quote) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of events)
      response.write(`data: ${event.replaceAll('QUOTE', JSON.stringify(quote).slice(1, -1))}\n\n`);
    response.end();
  };
};
const raw = (text: string): Fault => {
  return (response, quote) => {
    const socket = response.socket as Socket;
    socket.end(text.replaceAll('QUOTE', quote.replace(/\s/g, ' ')));
  };
};

/** Ways in which an engine fails, each with the whole prompt in what it says. By the name of the model. */
const FAULTS: Readonly<Record<string, Fault>> = {
  bad_request: json(400, { error: { message: 'QUOTE' }, detail: ['QUOTE'] }),
  too_long: json(400, { error: { message: 'maximum context length: QUOTE' } }),
  failing: json(500, 'QUOTE'),
  overloaded: json(503, { message: 'QUOTE' }),
  no_stream: json(200, { error: { message: 'QUOTE', code: 500 } }),
  no_object: json(200, 'QUOTE'),
  no_json: sse('{"QUOTE'),
  error_event: sse('{"error":{"message":"QUOTE","code":400}}'),
  text_only: sse('{"choices":[{"text":"QUOTE"}]}'),
  no_ids: sse('{"choices":[{"token_ids":["QUOTE"]}]}'),
  no_end: sse('{"choices":[{"token_ids":[200005,35644,200008,12194]}],"QUOTE":"QUOTE"}'),
  no_http: raw('QUOTE\r\n\r\n'),
  bad_header: raw('HTTP/1.1 200 QUOTE\r\nx QUOTE\r\n\r\n'),
  bad_length: raw('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: QUOTE\r\n\r\n'),
  bad_chunk: raw(
    'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nQUOTE\r\n',
  ),
  bad_type: raw('HTTP/1.1 200 OK\r\nContent-Type: text/QUOTE\r\nContent-Length: 0\r\n\r\n'),
};

/** An engine that answers nothing but faults, and quotes what it was asked in each. */
export class FaultyEngine {
  readonly #server: Server;
  readonly url: string;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(): Promise<FaultyEngine> {
    const server = createServer((request, response) => {
      if (request.method === 'GET') return void response.writeHead(404).end();
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const { model, prompt } = JSON.parse(Buffer.concat(parts).toString()) as {
          model: string;
          prompt: number[];
        };
        FAULTS[model]?.(response, o200kHarmony().decode(prompt), prompt);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new FaultyEngine(server);
  }

  /** Lines of a configuration: the models that fail, at the engine `faulty`. */
  get models(): string[] {
    return Object.keys(FAULTS).map((name) => `  ${name}: { engine: faulty }`);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Every fault, over every transport. */
export async function faults(run: Run): Promise<void> {
  const client = await run.socket();
  for (const model of Object.keys(FAULTS)) {
    const input = (way: string) => [user(run.kept(`fault_${model}_${way}`))];
    const { status } = await run.post({ model, input: input('json') });
    expect(status).toBeGreaterThanOrEqual(model === 'no_end' ? 200 : 400);
    const { text } = await run.post({ model, stream: true, input: input('stream') });
    expect(text).toContain('event: response.failed');
    const events = await client.create({ store: run.options.store, model, input: input('socket') });
    expect(events.at(-1)?.type).toBe('response.failed');
  }
}
