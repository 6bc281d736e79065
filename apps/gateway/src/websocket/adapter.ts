import { WsAdapter } from '@nestjs/platform-ws';
import { ApiError, mintId } from '@turnpike/protocol';
import type { INestApplication } from '@nestjs/common';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import {
  admitConnection,
  admitUpgrade,
  asksForWebSocket,
  serveWithoutUpgrade,
  type UpgradeState,
} from './upgrade.js';
import { answerAndClose } from '../http/raw-answer.js';
import { explainingSocket } from './explaining-socket.js';

/**
 * Bounds on what one incomplete message may cost (CVE-2026-48779: tiny fragments exhaust memory). 4,096 fragments
 * carry 16 MiB in pieces of 4 KiB; 65,536 TCP segments carry as much in pieces of 256 bytes.
 */
const MESSAGE_BOUNDS = { maxFragments: 4_096, maxBufferedChunks: 65_536 };

/** Longest wait for the request that opens a connection, in ms. */
const HANDSHAKE_MS = 10_000;

/**
 * Owns the `upgrade` event: path, origin, key and limits are decided before the 101, and whole messages go straight
 * to the connection object. Nest's own message handling (rxjs per message, routing by `event`) is not used.
 */
export class ResponsesWsAdapter extends WsAdapter {
  readonly #server: Server;
  readonly #state: () => UpgradeState;

  constructor(app: INestApplication, state: () => UpgradeState) {
    super(app);
    this.#server = app.getHttpServer() as Server;
    this.#state = state;
    this.#server.headersTimeout = HANDSHAKE_MS;
  }

  override create(): WebSocketServer {
    const { frameBytes } = this.#state().config.limits;
    const server = new WebSocketServer({
      noServer: true,
      maxPayload: frameBytes,
      WebSocket: explainingSocket(frameBytes),
      // There is no sub-protocol; ws would otherwise agree to whatever comes first in a client's list.
      handleProtocols: () => false,
      perMessageDeflate: false,
      // One message a tick: thousands of tiny ones in one packet must not hold up other connections.
      allowSynchronousEvents: false,
      ...MESSAGE_BOUNDS,
    });
    server.on('headers', (headers) => headers.push(`x-request-id: ${mintId('request')}`));
    server.on('wsClientError', ({ message }, socket) => {
      answerAndClose(socket, new ApiError('invalid_value', { message: `${message}.` }));
    });
    this.#server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      if (!asksForWebSocket(request)) return serveWithoutUpgrade(this.#server, request, socket, head);
      // Until ws takes the socket over, a reset by the client would otherwise be an uncaught error.
      const ignore = () => undefined;
      socket.on('error', ignore);
      const open = async () => {
        admitUpgrade(request, this.#state());
        const principal = await this.#state().keys.authenticate(request);
        admitConnection(principal, this.#state());
        server.handleUpgrade(request, socket, head, (client) => {
          socket.off('error', ignore);
          server.emit('connection', client, request, { principal, socket });
        });
      };
      open().catch((thrown: unknown) => answerAndClose(socket, ApiError.from(thrown)));
    });
    return server;
  }

  /** The connection object reads its socket itself. */
  override bindMessageHandlers(_client: WebSocket): void {
    return;
  }

  /** Connections have been drained by the gateway before Nest closes the server: what is left is not read any more. */
  override async close(server: WebSocketServer): Promise<void> {
    for (const client of server.clients) client.terminate();
    await new Promise((resolve) => server.close(resolve));
  }
}
