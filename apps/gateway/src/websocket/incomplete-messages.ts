import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';

/** RFC 6455: "policy violation" and "message too big". */
const CLOSE_POLICY_VIOLATION = 1008;
const CLOSE_TOO_BIG = 1009;

/** How long a message may take to arrive, in ms: as long as Node gives an HTTP request. */
const MESSAGE_MS = 300_000;
/** How often it is looked whether one takes longer, in ms. */
const CHECK_MS = 10_000;
/** How long a client has to see why its connection ends before the bytes that are held for it are let go, in ms. */
const CLOSING_MS = 1_000;

/** Bytes of a control frame beside its payload: two of header, four of mask. */
const CONTROL_FRAME = 6;

/** A message that has begun. */
interface Incomplete {
  /** Bytes that have arrived of it; of the read that began it, those of the message before count as well. */
  bytes: number;
  /** On the clock of `performance`. */
  readonly since: number;
}

/**
 * Bounds what parts of messages may cost that never become whole: how long one may take, and how many bytes they have
 * together over all connections. Where those are too many, the one that has been on its way for the longest is given up.
 */
export class IncompleteMessages {
  readonly #limit: number;
  /** In the order in which they began. */
  readonly #messages = new Map<WebSocket, Incomplete>();
  #total = 0;

  /** @param limit bytes of all of them together */
  constructor(limit: number) {
    this.#limit = limit;
    setInterval(() => this.#endLate(), CHECK_MS).unref();
  }

  /** Bytes of incomplete messages that are held. */
  get bytes(): number {
    return this.#total;
  }

  /** Looks after a connection until it closes. @param socket the one below, from which ws reads */
  watch(client: WebSocket, socket: Socket): void {
    const onData = (part: Buffer) => this.#add(client, part.length);
    const onControl = (payload: Buffer) => this.#add(client, -(payload.length + CONTROL_FRAME));
    socket.on('data', onData);
    client.on('ping', onControl);
    client.on('pong', onControl);
    client.on('message', () => this.#forget(client));
    client.once('close', () => {
      socket.off('data', onData);
      this.#forget(client);
    });
  }

  #add(client: WebSocket, bytes: number): void {
    const message = this.#messages.get(client);
    if (message === undefined) {
      if (bytes <= 0 || client.readyState !== client.OPEN) return;
      this.#messages.set(client, { bytes, since: performance.now() });
    } else message.bytes += bytes;
    this.#total += bytes;
    if ((message?.bytes ?? bytes) <= 0) this.#forget(client);
    if (this.#total > this.#limit) this.#endOldest();
  }

  #forget(client: WebSocket): void {
    this.#total -= this.#messages.get(client)?.bytes ?? 0;
    this.#messages.delete(client);
  }

  #endOldest(): void {
    for (const client of this.#messages.keys()) {
      if (this.#total <= this.#limit) return;
      this.#end(client, CLOSE_TOO_BIG, 'too many bytes of incomplete messages');
    }
  }

  #endLate(): void {
    const begun = performance.now() - MESSAGE_MS;
    for (const [client, { since }] of this.#messages) {
      if (since > begun) return;
      this.#end(client, CLOSE_POLICY_VIOLATION, `a message has to arrive within ${MESSAGE_MS / 1000} s`);
    }
  }

  #end(client: WebSocket, code: number, reason: string): void {
    this.#forget(client);
    client.close(code, reason);
    setTimeout(() => client.terminate(), CLOSING_MS).unref();
  }
}
