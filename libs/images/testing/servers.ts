import { createSocket, type Socket } from 'node:dgram';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A web server on loopback that keeps what it was asked. */
export class WebServer {
  readonly requests: IncomingMessage[] = [];
  /** Connections that ended before their answer did. */
  cut = 0;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(
    answer: (request: IncomingMessage, response: ServerResponse) => void,
  ): Promise<WebServer> {
    const server = createServer();
    const web = new WebServer(server);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      web.requests.push(request);
      response.on('close', () => {
        if (!response.writableFinished) web.cut += 1;
      });
      answer(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return web;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const HEADER_BYTES = 12;
const TYPE_A = 1;

/** A name server on loopback that answers every question for an A record with the next of these addresses. */
export class NameServer {
  questions = 0;
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** @param addresses IPv4; undefined leaves the question without an answer */
  static async start(addresses: readonly (string | undefined)[]): Promise<NameServer> {
    const socket = createSocket('udp4');
    const names = new NameServer(socket);
    socket.on('message', (question, { port, address }) => {
      const end = question.indexOf(0, HEADER_BYTES) + 5;
      const isA = question.readUInt16BE(end - 4) === TYPE_A;
      const answer = isA ? addresses[names.questions++] : '';
      if (answer !== undefined) socket.send(answerTo(question.subarray(0, end), answer), port, address);
    });
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
    return names;
  }

  get server(): string {
    return `127.0.0.1:${this.#socket.address().port}`;
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.#socket.close(() => resolve()));
  }
}

/** Source: RFC 1035, sections 4.1.1 to 4.1.4: a record that points at the name of the question and lives for 0 seconds. */
function answerTo(question: Buffer, address: string): Buffer {
  const header = Buffer.from(question);
  header.writeUInt16BE(0x8180, 2);
  header.writeUInt16BE(address === '' ? 0 : 1, 6);
  header.writeUInt16BE(0, 10);
  if (address === '') return header;
  const record = Buffer.from([0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4]);
  return Buffer.concat([header, record, Buffer.from(address.split('.').map(Number))]);
}
