import type { EventFrame } from '@turnpike/protocol';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { EventSink } from '../turn/event-sink.js';

export interface OutboxLimits {
  /** Unsent bytes above which {@link Outbox.ready} makes producers wait. */
  readonly sendBufferBytes: number;
  /** How long they wait before the connection is given up, in ms. */
  readonly sendTimeoutMs: number;
}

/** How often a full buffer is looked at, in ms. */
const POLL_MS = 10;
/** RFC 6455 registry: "try again later". */
const CLOSE_TRY_AGAIN_LATER = 1013;

/** Everything a connection writes goes through here: one socket write per batch, unsent bytes bounded. */
export class Outbox implements EventSink {
  readonly #client: WebSocket;
  /** The TCP socket below, for corking: a write call per frame is most of a frame's cost. */
  readonly #socket: Duplex;
  readonly #limits: OutboxLimits;

  constructor(client: WebSocket, socket: Duplex, limits: OutboxLimits) {
    this.#client = client;
    this.#socket = socket;
    this.#limits = limits;
  }

  send(frames: readonly EventFrame[]): void {
    if (this.#client.readyState !== this.#client.OPEN) return;
    if (frames.length === 1) return this.sendText(frames[0]?.json ?? '');
    this.#socket.cork();
    for (const frame of frames) this.#client.send(frame.json);
    this.#socket.uncork();
  }

  /** One message that is not part of a response. */
  sendText(json: string): void {
    if (this.#client.readyState === this.#client.OPEN) this.#client.send(json);
  }

  ready(): Promise<void> | undefined {
    return this.#client.bufferedAmount <= this.#limits.sendBufferBytes ? undefined : this.#drained();
  }

  async #drained(): Promise<void> {
    const deadline = performance.now() + this.#limits.sendTimeoutMs;
    while (this.#client.bufferedAmount > this.#limits.sendBufferBytes / 2) {
      if (this.#client.readyState !== this.#client.OPEN) return;
      if (performance.now() > deadline) {
        this.#client.close(CLOSE_TRY_AGAIN_LATER, 'the client reads too slowly');
        this.#client.terminate();
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
}
