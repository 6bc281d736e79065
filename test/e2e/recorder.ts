import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy in front of an engine that keeps the prompt of every completion. */
export class Recorder {
  readonly #server: Server;
  readonly prompts: number[][] = [];
  readonly url: string;

  private constructor(server: Server, prompts: number[][]) {
    this.#server = server;
    this.prompts = prompts;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(engineUrl: string): Promise<Recorder> {
    const prompts: number[][] = [];
    const server = createServer((incoming, outgoing) => {
      const parts: Buffer[] = [];
      incoming.on('data', (part: Buffer) => parts.push(part));
      incoming.on('end', () => {
        const body = Buffer.concat(parts);
        if (incoming.url === '/v1/completions')
          prompts.push((JSON.parse(body.toString()) as { prompt: number[] }).prompt);
        const onward = request(
          engineUrl + incoming.url,
          { method: incoming.method, headers: { 'content-type': 'application/json' } },
          (answer) => {
            outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
            // An engine that dies mid-answer dies on both sides of the proxy.
            answer.on('error', () => outgoing.destroy());
            answer.pipe(outgoing);
          },
        );
        onward.on('error', () => outgoing.destroy());
        outgoing.on('close', () => onward.destroy());
        onward.end(body);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new Recorder(server, prompts);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
