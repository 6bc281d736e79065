import { Inject, type BeforeApplicationShutdown } from '@nestjs/common';
import { WebSocketGateway, type OnGatewayConnection } from '@nestjs/websockets';
import type { Principal } from '@turnpike/access';
import { ConnectionCache, ResumeWindow } from '@turnpike/conversation';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Config } from '../config/schema.js';
import { CONFIG } from '../tokens.js';
import { TurnService } from '../turn/turn.service.js';
import { Connection } from './connection.js';
import { Outbox } from './outbox.js';

/** What the adapter knows of a connection when the upgrade is done. */
export interface Handshake {
  readonly principal: Principal;
  readonly socket: Duplex;
}

/** WebSocket mode at `/v1/responses`. Nest wires it; frames go from the socket to the connection object directly. */
@WebSocketGateway()
export class ResponsesGateway implements OnGatewayConnection<WebSocket>, BeforeApplicationShutdown {
  readonly #connections = new Set<Connection>();
  #draining = false;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(TurnService) private readonly turns: TurnService,
    @Inject(ResumeWindow) private readonly resume: ResumeWindow,
  ) {}

  /** Open connections. */
  get size(): number {
    return this.#connections.size;
  }

  /** True once the server has been told to stop. */
  get draining(): boolean {
    return this.#draining;
  }

  handleConnection(client: WebSocket, _request: IncomingMessage, handshake: Handshake): void {
    const { limits } = this.config;
    const connection = new Connection({
      client,
      outbox: new Outbox(client, handshake.socket, limits),
      principal: handshake.principal,
      cache: new ConnectionCache(handshake.principal.tenant, limits.connectionCacheBytes),
      resume: this.resume,
      turns: this.turns,
      lifetimeMs: limits.connectionMs,
    });
    this.#connections.add(connection);
    client.on('close', () => this.#connections.delete(connection));
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#draining = true;
    const deadline = AbortSignal.timeout(this.config.limits.drainMs);
    await Promise.all([...this.#connections].map((connection) => connection.drain(deadline)));
  }
}
