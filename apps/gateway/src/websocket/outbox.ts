import type { EventFrame } from '@turnpike/protocol';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { drained } from '../http/drained.js';
import type { EventSink } from '../turn/event-sink.js';

export interface OutboxLimits {
  /** Unsent bytes above which {@link Outbox.ready} makes producers wait. */
  readonly sendBufferBytes: number;
  /** How long they wait before the connection is given up, in ms. */
  readonly sendTimeoutMs: number;
}

/** Everything a connection writes goes through here: one socket write per batch, unsent bytes bounded. */
export class Outbox implements EventSink {
  readonly #client: WebSocket;
  /** The TCP socket below, for corking: a write call per frame is most of a frame's cost. */
  readonly #socket: Duplex;
  readonly #limits: OutboxLimits;
  #draining: Promise<void> | undefined;

  constructor(client: WebSocket, socket: Duplex, limits: OutboxLimits) {
    this.#client = client;
    this.#socket = socket;
    this.#limits = limits;
  }

  send(frames: readonly EventFrame[]): void {
    if (this.#client.readyState !== this.#client.OPEN) return;
    this.#socket.cork();
    for (const frame of frames) this.#client.send(frame.json);
    this.#socket.uncork();
  }

  /** A reply that is not part of a response. A client that does not read its replies is not read either. */
  sendText(json: string): void {
    if (this.#client.readyState !== this.#client.OPEN) return;
    this.#client.send(json);
    const caughtUp = this.ready();
    if (caughtUp === undefined) return;
    this.#client.pause();
    void caughtUp.then(() => this.#client.resume());
  }

  ready(): Promise<void> | undefined {
    const { readyState, OPEN, bufferedAmount } = this.#client;
    if (readyState !== OPEN || bufferedAmount <= this.#limits.sendBufferBytes) return undefined;
    if (!this.#socket.writableNeedDrain) return undefined;
    this.#draining ??= this.#drained();
    return this.#draining;
  }

  /** One wait for all lanes, and one deadline. A close frame would stand behind what the client does not read. */
  async #drained(): Promise<void> {
    await drained(this.#socket, this.#limits.sendTimeoutMs, () => this.#client.terminate());
    this.#draining = undefined;
  }
}
