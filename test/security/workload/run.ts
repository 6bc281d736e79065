import { expect } from '@jest/globals';
import { SocketClient, terminalOf, type WireEvent, type WireItem } from '../../e2e/socket-client.js';
import type { Markers } from '../markers.js';

export interface RunOptions {
  /** Base URL of the gateway. */
  readonly url: string;
  readonly key: string;
  /** Base URL of its engine. */
  readonly engineUrl: string;
  /** What every request says. */
  readonly store: boolean;
  readonly markers: Markers;
  /** Base URL of a server that the gateway may fetch images from. */
  readonly imagesUrl: string;
}

export interface SentOptions {
  readonly path?: string;
  readonly headers?: Record<string, string>;
}

export interface Got {
  readonly status: number;
  readonly text: string;
}

type Fields = Record<string, unknown>;
export type WireResponse = ReturnType<typeof terminalOf>['response'];

/** One run of everything that a client can do, with or without `store`. */
export class Run {
  readonly options: RunOptions;
  /** Responses to conversations that were sent whole, whose beginning the server had seen. */
  readonly replays: string[] = [];

  constructor(options: RunOptions) {
    this.options = options;
  }

  /** Text that is stored when the run stores. */
  kept(place: string): string {
    return this.options.markers.kept(place);
  }

  /** Text that is stored nowhere, whatever the run says. */
  passing(place: string): string {
    return this.options.markers.passing(place);
  }

  get headers(): Record<string, string> {
    return { authorization: `Bearer ${this.options.key}` };
  }

  body(fields: Fields): Fields {
    return { model: 'sim', store: this.options.store, ...fields };
  }

  /** Sends a body as it is. */
  async send(
    body: string | Buffer,
    { path = '/v1/responses', headers = {} }: SentOptions = {},
  ): Promise<Got> {
    const answer = await fetch(this.options.url + path, {
      method: 'POST',
      headers: { ...this.headers, ...headers },
      body,
    });
    return { status: answer.status, text: await answer.text() };
  }

  post(fields: Fields, options?: SentOptions): Promise<Got> {
    return this.send(JSON.stringify(this.body(fields)), options);
  }

  /** A request that has to be answered. */
  async complete(fields: Fields, options?: SentOptions): Promise<WireResponse> {
    const { status, text } = await this.post(fields, options);
    const response = JSON.parse(text) as WireResponse;
    expect([status, response.status, text]).toEqual([200, 'completed', text]);
    return response;
  }

  /** A request that has to be refused. */
  async refuse(fields: Fields, code: string, options?: SentOptions): Promise<void> {
    const { text } = await this.post(fields, options);
    expect(JSON.parse(text)).toMatchObject({ error: { code } });
  }

  socket(path?: string, headers: Record<string, string> = {}): Promise<SocketClient> {
    return SocketClient.connect(this.options.url, path, { ...this.headers, ...headers });
  }

  /** Waits until the engine is answering so many requests. */
  async untilEngineRuns(count: number): Promise<void> {
    for (;;) {
      const state = await fetch(`${this.options.engineUrl}/debug/state`);
      if (((await state.json()) as { running: number }).running === count) return;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

/** The response of a turn that has to be answered. */
export function completed(events: readonly WireEvent[]): WireResponse {
  const { response } = terminalOf(events);
  expect(response).toMatchObject({ status: 'completed', error: null });
  return response;
}

/** What a user says; the model does nothing but answer. */
export function user(text: string): WireItem {
  return { type: 'message', role: 'user', content: `${text} [sim calls=0]` } as unknown as WireItem;
}

/** Calls of a response that wait for the client. */
export function callsOf({ output }: WireResponse): WireItem[] {
  return output.filter(({ call_id }) => call_id !== undefined);
}
