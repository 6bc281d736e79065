import { Inject, type BeforeApplicationShutdown } from '@nestjs/common';
import { WebSocketGateway, type OnGatewayConnection } from '@nestjs/websockets';
import { KeyRing, type Principal } from '@turnpike/access';
import { ConnectionCache, ResumeWindow } from '@turnpike/conversation';
import type { IncomingMessage } from 'node:http';
import { setMaxListeners } from 'node:events';
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { Config } from '../config/schema.js';
import { CONFIG } from '../tokens.js';
import { TurnService } from '../turn/turn.service.js';
import { Connection } from './connection.js';
import { IncompleteMessages } from './incomplete-messages.js';
import { Outbox } from './outbox.js';

/** How long clients have to close after the deadline of a drain, in ms. */
const CLOSE_MS = 500;

/** What the adapter knows of a connection when the upgrade is done. */
export interface Handshake {
  readonly principal: Principal;
  readonly socket: Socket;
}

/** WebSocket mode at `/v1/responses`. Nest wires it; frames go from the socket to the connection object directly. */
@WebSocketGateway()
export class ResponsesGateway implements OnGatewayConnection<WebSocket>, BeforeApplicationShutdown {
  readonly #connections = new Set<Connection>();
  /** How many connections each key has. */
  readonly #byKey = new Map<string, number>();
  readonly #incomplete: IncompleteMessages;
  #draining = false;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(TurnService) private readonly turns: TurnService,
    @Inject(ResumeWindow) private readonly resume: ResumeWindow,
    @Inject(KeyRing) private readonly keys: KeyRing,
  ) {
    this.#incomplete = new IncompleteMessages(config.limits.incompleteBytes);
  }

  /** Open connections. */
  get size(): number {
    return this.#connections.size;
  }

  /** Open connections of a key. */
  sizeOf({ tenant, key }: Principal): number {
    return this.#byKey.get(nameOf(tenant, key)) ?? 0;
  }

  /** A response was deleted: no connection goes on with it. */
  forget(tenant: string, id: string): void {
    for (const connection of this.#connections) connection.forget(tenant, id);
    this.resume.take(tenant, id);
  }

  /** True once the server has been told to stop. */
  get draining(): boolean {
    return this.#draining;
  }

  handleConnection(client: WebSocket, _request: IncomingMessage, handshake: Handshake): void {
    const { limits } = this.config;
    this.#incomplete.watch(client, handshake.socket);
    const connection = new Connection({
      client,
      socket: handshake.socket,
      outbox: new Outbox(client, handshake.socket, limits),
      principal: handshake.principal,
      current: (principal) => this.keys.current(principal),
      cache: new ConnectionCache(handshake.principal.tenant, limits.connectionCacheBytes),
      resume: this.resume,
      turns: this.turns,
      lifetimeMs: limits.connectionMs,
      queuedBytes: limits.queuedBytes,
    });
    const { tenant, key } = handshake.principal;
    this.#connections.add(connection);
    this.#count(nameOf(tenant, key), 1);
    client.on('close', () => {
      this.#connections.delete(connection);
      this.#count(nameOf(tenant, key), -1);
    });
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#draining = true;
    const { drainMs } = this.config.limits;
    const deadline = AbortSignal.timeout(drainMs);
    const end = AbortSignal.timeout(drainMs + CLOSE_MS);
    // Every connection listens.
    setMaxListeners(0, deadline, end);
    await Promise.all([...this.#connections].map((connection) => connection.drain(deadline, end)));
  }

  #count(name: string, change: 1 | -1): void {
    const count = (this.#byKey.get(name) ?? 0) + change;
    if (count === 0) this.#byKey.delete(name);
    else this.#byKey.set(name, count);
  }
}

/** Names a key among those of all tenants. */
function nameOf(tenant: string, key: string): string {
  return JSON.stringify([tenant, key]);
}
