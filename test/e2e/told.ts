import { expect } from '@jest/globals';
import { Books } from './books.js';
import type { WireEvent } from './socket-client.js';

/** The terminal events of responses among these. */
export function endsOf(events: readonly WireEvent[]): WireEvent[] {
  return events.filter(({ type }) => /^response\.(completed|incomplete|failed)$/.test(type));
}

/** The response that an event shows; fails the test when there is none. */
export function responseOf(event: WireEvent | undefined): NonNullable<WireEvent['response']> {
  if (event?.response === undefined) throw new Error(`no response in ${JSON.stringify(event)}`);
  return event.response;
}

/** Each response has one terminal event, nothing of it comes behind that, and its events are numbered without a hole. */
export function expectOneEndEach(events: readonly WireEvent[]): void {
  const starts = events.flatMap(({ type }, index) => (type === 'response.created' ? [index] : []));
  starts.forEach((start, index) => {
    const own = events
      .slice(start, starts[index + 1])
      .filter(({ type }) => !/^error$|\.(steer|interrupt|inject)\.(failed|pending)$/.test(type));
    expect(own.map(({ sequence_number }) => sequence_number)).toEqual([...own.keys()]);
    expect(endsOf(own)).toEqual([own.at(-1)]);
    expect(own.at(-1)?.response?.id).toBe(own[0]?.response?.id);
  });
}

/**
 * What the client was told of a response is what was booked, and what engines sampled for it.
 * @param folder where the gateway was started
 * @param event the end of the response
 * @param answers of engines, all of which arrived
 */
export async function expectBookedIn(
  folder: string,
  event: WireEvent | undefined,
  answers: readonly { readonly sampled: number }[],
): Promise<void> {
  const { id, usage, status } = responseOf(event);
  const record = await new Books(folder).booked(id);
  const sum = (name: 'input' | 'output') =>
    record.parts.reduce((total, { tokens }) => total + tokens[name], 0);
  expect([sum('input'), sum('output')]).toEqual([usage?.input_tokens, usage?.output_tokens]);
  expect(sum('output')).toBe(answers.reduce((total, { sampled }) => total + sampled, 0));
  expect(record.outcome).toBe(status);
}
