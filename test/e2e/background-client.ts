import { expect } from '@jest/globals';
import type { WireEvent, WireItem, WireUsage } from './socket-client.js';

export interface WireResponse {
  id: string;
  status: string;
  background: boolean;
  output: WireItem[];
  usage: WireUsage | null;
  error: { code: string; message: string; type?: string; param?: string | null } | null;
  [field: string]: unknown;
}

export interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly body: WireResponse;
}

export interface CallOptions {
  readonly body?: object;
  readonly method?: string;
  readonly key?: string;
}

/** A request, and what came back as JSON. */
export async function call(url: string, { body, method, key }: CallOptions = {}): Promise<Answer> {
  const answer = await fetch(url, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
    ...(body === undefined ? {} : { body: JSON.stringify({ model: 'sim', ...body }) }),
  });
  expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
  return {
    status: answer.status,
    retryAfter: answer.headers.get('retry-after'),
    body: (await answer.json()) as WireResponse,
  };
}

/** Accepts a background response at a gateway. */
export async function accept(url: string, input: string, fields: object = {}): Promise<WireResponse> {
  const { status, body } = await call(`${url}/v1/responses`, {
    body: { input, background: true, ...fields },
  });
  expect([status, body.status, body.background]).toEqual([200, 'queued', true]);
  return body;
}

/** Polls until the response has this status, or any that is final. */
export async function poll(url: string, id: string, until?: string): Promise<WireResponse> {
  for (;;) {
    const { body } = await call(`${url}/v1/responses/${id}`);
    if (until === undefined ? !['queued', 'in_progress'].includes(body.status) : body.status === until) {
      return body;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export function cancel(url: string, id: string, key?: string): Promise<Answer> {
  const options = { method: 'POST', ...(key === undefined ? {} : { key }) };
  return call(`${url}/v1/responses/${id}/cancel`, options);
}

/** A stream of server-sent events that shows what has come so far. */
export class EventStream {
  readonly events: WireEvent[] = [];
  readonly #gone = new AbortController();
  /** Resolves when the server has ended the answer; false when it was cut off. */
  readonly ended: Promise<boolean>;
  #wake: () => void = () => undefined;

  private constructor(body: ReadableStream<Uint8Array>) {
    this.ended = this.#read(body).then(
      () => true,
      () => false,
    );
  }

  static async open(url: string, body?: object): Promise<EventStream> {
    const answer = await fetch(
      url,
      body && { method: 'POST', body: JSON.stringify({ model: 'sim', stream: true, ...body }) },
    );
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ]);
    if (answer.body === null) throw new Error('there is no body');
    return new EventStream(answer.body);
  }

  /** The stream of a response once more, behind this event. */
  static again(url: string, id: string, after?: number): Promise<EventStream> {
    const from = after === undefined ? '' : `&starting_after=${after}`;
    return EventStream.open(`${url}/v1/responses/${id}?stream=true${from}`);
  }

  /** Waits until this holds. */
  async until(condition: (events: readonly WireEvent[]) => boolean): Promise<void> {
    while (!condition(this.events)) await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  /** All events, once the server has ended the answer. */
  async all(): Promise<WireEvent[]> {
    expect(await this.ended).toBe(true);
    return this.events;
  }

  leave(): void {
    this.#gone.abort();
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    const reader = body.getReader();
    this.#gone.signal.addEventListener('abort', () => void reader.cancel());
    const decoder = new TextDecoder();
    for (let text = ''; ;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) if (!block.startsWith(':')) this.events.push(eventOf(block));
      this.#wake();
    }
  }
}

function eventOf(block: string): WireEvent {
  const [head, data] = block.split('\n');
  const event = JSON.parse(data?.slice('data: '.length) ?? '') as WireEvent;
  expect(head).toBe(`event: ${event.type}`);
  return event;
}
