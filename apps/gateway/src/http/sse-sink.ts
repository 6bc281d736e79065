import type { EventFrame } from '@turnpike/protocol';
import type { ServerResponse } from 'node:http';
import type { EventSink } from '../turn/event-sink.js';
import type { Limits } from '../config/schema.js';
import { drained } from './drained.js';

/** Writes events to an HTTP response as server-sent events: one write per batch. */
export class SseSink implements EventSink {
  readonly #response: ServerResponse;
  readonly #limits: Pick<Limits, 'sendBufferBytes' | 'sendTimeoutMs'>;
  readonly #started: number;

  /** @param started when the request came, on the clock of `performance` */
  constructor(
    response: ServerResponse,
    limits: Pick<Limits, 'sendBufferBytes' | 'sendTimeoutMs'>,
    started = performance.now(),
  ) {
    this.#response = response;
    this.#limits = limits;
    this.#started = started;
  }

  /** Begins the answer before there is an event to send. */
  open(): void {
    this.#writeHead();
    this.#response.flushHeaders();
  }

  /** A sign of life that is no event: a comment, which every client passes over. */
  pulse(): void {
    if (!this.#response.destroyed) this.#response.write(': keepalive\n\n');
  }

  send(frames: readonly EventFrame[]): void {
    if (this.#response.destroyed || this.#response.writableEnded) return;
    if (!this.#response.headersSent) this.#writeHead();
    this.#response.write(eventsText(frames));
  }

  /** Sends what was written as events before. */
  sendText(text: string): void {
    this.#writeHead();
    this.#response.end(text);
  }

  #writeHead(): void {
    this.#response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      // nginx would otherwise collect the stream.
      'x-accel-buffering': 'no',
      ...processingTime(this.#started),
    });
  }

  ready(): Promise<void> | undefined {
    const { writableNeedDrain, writableLength, destroyed } = this.#response;
    if (!writableNeedDrain || writableLength <= this.#limits.sendBufferBytes || destroyed) return undefined;
    return drained(this.#response, this.#limits.sendTimeoutMs, () => this.#response.destroy());
  }
}

/** Events as they are written. */
export function eventsText(frames: readonly EventFrame[]): string {
  let text = '';
  for (const { type, json } of frames) text += `event: ${type}\ndata: ${json}\n\n`;
  return text;
}

/** How long the server took, as OpenAI says it: until the answer began. @param started on the clock of `performance` */
export function processingTime(started: number): Record<string, string> {
  return { 'openai-processing-ms': String(Math.round(performance.now() - started)) };
}
