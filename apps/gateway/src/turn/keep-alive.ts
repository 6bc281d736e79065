import type { EventFrame } from '@turnpike/protocol';
import type { EventSink } from './event-sink.js';

/**
 * A sink that speaks up when nothing else does: agents and proxies give up on a silent connection, and agents do not
 * count WebSocket pings as life.
 */
export class KeepAlive implements EventSink {
  readonly #sink: EventSink;
  readonly #timer: NodeJS.Timeout;
  #silent = true;

  constructor(sink: EventSink, signOfLife: () => EventFrame, everyMs: number) {
    this.#sink = sink;
    this.#timer = setInterval(() => {
      if (this.#silent) this.#sink.send([signOfLife()]);
      this.#silent = true;
    }, everyMs).unref();
  }

  send(frames: readonly EventFrame[]): void {
    this.#silent = false;
    this.#sink.send(frames);
  }

  ready(): Promise<void> | undefined {
    return this.#sink.ready();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
