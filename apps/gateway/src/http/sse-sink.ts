import type { EventFrame } from '@turnpike/protocol';
import type { ServerResponse } from 'node:http';
import type { EventSink } from '../turn/event-sink.js';

/** Writes events to an HTTP response as server-sent events: one write per batch. */
export class SseSink implements EventSink {
  readonly #response: ServerResponse;
  readonly #sendTimeoutMs: number;

  /** @param sendTimeoutMs how long a reader may leave the buffer full before its connection is closed */
  constructor(response: ServerResponse, sendTimeoutMs: number) {
    this.#response = response;
    this.#sendTimeoutMs = sendTimeoutMs;
  }

  send(frames: readonly EventFrame[]): void {
    if (this.#response.destroyed || this.#response.writableEnded) return;
    if (!this.#response.headersSent) {
      this.#response.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-cache, no-transform',
        // nginx would otherwise collect the stream.
        'x-accel-buffering': 'no',
      });
    }
    let text = '';
    for (const { type, json } of frames) text += `event: ${type}\ndata: ${json}\n\n`;
    this.#response.write(text);
  }

  ready(): Promise<void> | undefined {
    return this.#response.writableNeedDrain && !this.#response.destroyed ? this.#drained() : undefined;
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#response.destroy(), this.#sendTimeoutMs);
      const done = () => {
        clearTimeout(timer);
        this.#response.off('drain', done);
        this.#response.off('close', done);
        resolve();
      };
      this.#response.once('drain', done);
      this.#response.once('close', done);
    });
  }
}
