import { expect, it } from '@jest/globals';
import { SocketClient, type WireEvent } from '../e2e/socket-client.js';
import { checkStream } from './stream-rules.js';

export const TRANSPORTS = ['websocket', 'http'] as const;
export type Transport = (typeof TRANSPORTS)[number];
export type Body = Record<string, unknown>;

/** One conversation partner, the same over both transports. */
export interface Client {
  readonly transport: Transport;
  /**
   * The events of one response up to its end. What is no response is one `error` event, as on a socket. Every answer is
   * held to {@link checkStream}.
   */
  create(body: Body): Promise<WireEvent[]>;
  close(): void;
}

export interface Address {
  readonly url: string;
  readonly headers?: Record<string, string>;
}

/** Opens a client. */
export async function connect(transport: Transport, { url, headers = {} }: Address): Promise<Client> {
  if (transport === 'http') {
    return { transport, create: (body) => overHttp(url, body, headers), close: () => undefined };
  }
  const socket = await SocketClient.connect(url, '/v1/responses', headers);
  const create = async (body: Body) => {
    const events = await socket.create(body);
    checkStream(events);
    return events;
  };
  return { transport, create, close: () => socket.close() };
}

/** A client of each transport. */
export async function connectBoth(address: Address): Promise<Readonly<Record<Transport, Client>>> {
  return { websocket: await connect('websocket', address), http: await connect('http', address) };
}

/**
 * A test that runs over WebSocket and over HTTP with server-sent events.
 * @param title begins with the number of its line
 * @param address where the server is, once it runs
 */
export function overBoth(
  title: string,
  address: () => Address,
  body: (client: Client) => Promise<void>,
): void {
  for (const transport of TRANSPORTS) {
    it(`${title} (${transport})`, async () => {
      const client = await connect(transport, address());
      try {
        await body(client);
      } finally {
        client.close();
      }
    });
  }
}

/** A request over HTTP as a client would see it on a socket. */
async function overHttp(url: string, body: Body, headers: Record<string, string>): Promise<WireEvent[]> {
  const answer = await postJson(url, { stream: true, ...body }, headers);
  const events =
    answer.status === 200
      ? readSse(answer.text)
      : [{ type: 'error', status: answer.status, ...(JSON.parse(answer.text) as object) }];
  checkStream(events);
  return events;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** `POST` of a request for the model `sim`, to `/v1/responses` unless another path is given. */
export async function postJson(
  url: string,
  body: Body | string,
  headers: Record<string, string> = {},
  path = '/v1/responses',
): Promise<HttpAnswer> {
  const answer = await fetch(url + path, {
    method: 'POST',
    headers,
    body: typeof body === 'string' ? body : JSON.stringify({ model: 'sim', ...body }),
  });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
}

/** Server-sent events, each of exactly one `event` and one `data` line; there is no `[DONE]`. */
export function readSse(text: string): WireEvent[] {
  expect(text.endsWith('\n\n')).toBe(true);
  return text
    .slice(0, -2)
    .split('\n\n')
    .map((block) => {
      const [name = '', data = '', ...more] = block.split('\n');
      expect(more).toEqual([]);
      const event = JSON.parse(data.replace(/^data: /, '')) as WireEvent;
      expect([name, data.startsWith('data: ')]).toEqual([`event: ${event.type}`, true]);
      return event;
    });
}

/** Texts that differ from run to run. */
const VOLATILE = new Set([
  'id',
  'previous_response_id',
  'item_id',
  'call_id',
  'created_at',
  'completed_at',
  'encrypted_content',
  'stream_id',
]);

/**
 * How much an engine had sampled and found in its cache when it was stopped in the middle depends on when it heard of it;
 * that the counts are there, and are integers, does not.
 */
function stableUsage(key: string, entry: unknown): unknown {
  if (key !== 'usage' || typeof entry !== 'object' || entry === null) return entry;
  const { input_tokens, ...others } = entry as Record<string, unknown>;
  return { input_tokens, counts: Object.keys(others).sort() };
}

/**
 * The same events for the same answer: without their lane, with each id by the order of its first use, with deltas of one
 * item joined, since how many tokens an engine sends at once is chance.
 */
export function normalised(events: readonly WireEvent[]): WireEvent[] {
  const ids = new Map<unknown, string>();
  const named = (value: unknown) => {
    if (typeof value !== 'string') return typeof value;
    const known = ids.get(value);
    if (known !== undefined) return known;
    const name = `id ${ids.size}`;
    ids.set(value, name);
    return name;
  };
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => key !== 'stream_id')
        .map(([key, entry]) => [key, VOLATILE.has(key) ? named(entry) : visit(stableUsage(key, entry))]),
    );
  };
  const joined: WireEvent[] = [];
  for (const event of events) {
    const last = joined.at(-1);
    const continues = last !== undefined && event.type.endsWith('.delta') && event.type === last.type;
    if (continues) joined[joined.length - 1] = { ...last, delta: (last.delta ?? '') + (event.delta ?? '') };
    else joined.push(event);
  }
  return joined.map((event, index) => ({ ...(visit(event) as WireEvent), sequence_number: index }));
}
