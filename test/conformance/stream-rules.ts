import { expect } from '@jest/globals';
import type { WireEvent, WireItem } from '../e2e/socket-client.js';

/** What every stream of events keeps to, whatever its response is about, by the line of the checklist it belongs to. */
export interface StreamRule {
  readonly line: number;
  readonly says: string;
  /** @throws when the events of one response break the rule */
  readonly check: (events: readonly WireEvent[]) => void;
}

const TERMINAL = new Set(['response.completed', 'response.incomplete', 'response.failed']);
const LIFECYCLE = new Set(['response.created', 'response.in_progress', ...TERMINAL]);
/** Refusals of control events say what went wrong at the top; no other event may. */
const SAYS_ERROR = new Set([
  'error',
  'response.interrupt.failed',
  'response.steer.failed',
  'response.inject.failed',
]);

/** Events of an item that carry its text, and where the whole text stands in the done event. */
const TEXT_FIELD: Readonly<Record<string, string>> = {
  'response.output_text': 'text',
  'response.reasoning_text': 'text',
  'response.function_call_arguments': 'arguments',
  'response.custom_tool_call_input': 'input',
};

/** Type of the events that carry an item's text, without `.delta` or `.done`. */
const TEXT_EVENTS: Readonly<Record<string, string>> = {
  message: 'response.output_text',
  reasoning: 'response.reasoning_text',
  function_call: 'response.function_call_arguments',
  custom_tool_call: 'response.custom_tool_call_input',
};

/** Events of one item, `added` and `done` included, in order. */
export interface ItemEvents {
  readonly index: number;
  readonly added: WireItem;
  /** Undefined for an item that an interruption dropped. */
  readonly done: WireItem | undefined;
  readonly events: readonly WireEvent[];
}

/** The one terminal event. */
export function terminal(
  events: readonly WireEvent[],
): WireEvent & { response: NonNullable<WireEvent['response']> } {
  const last = events.at(-1);
  if (last?.response === undefined) throw new Error(`not the end of a response: ${JSON.stringify(last)}`);
  return { ...last, response: last.response };
}

/** Id of the response that a stream is about. */
export function idOf(events: readonly WireEvent[]): string {
  return terminal(events).response.id;
}

/** Splits a stream into its items. @throws when an event belongs to no open item */
export function itemsOf(events: readonly WireEvent[]): ItemEvents[] {
  const items: (ItemEvents & { events: WireEvent[]; done: WireItem | undefined })[] = [];
  let open: (typeof items)[number] | undefined;
  for (const event of events) {
    if (event.type === 'response.output_item.added') {
      if (open !== undefined) throw new Error('an item begins inside another');
      if (event.item === undefined) throw new Error('output_item.added without an item');
      open = { index: Number(event['output_index']), added: event.item, done: undefined, events: [event] };
      items.push(open);
      continue;
    }
    if (event['output_index'] === undefined) continue;
    if (open === undefined) throw new Error(`${event.type} outside of an item`);
    expect([event.type, event['output_index']]).toEqual([event.type, open.index]);
    const id = event.item === undefined ? event['item_id'] : event.item.id;
    expect([event.type, id]).toEqual([event.type, open.added.id]);
    open.events.push(event);
    if (event.type === 'response.output_item.done') {
      open.done = event.item;
      open = undefined;
    } else if (event.type === 'response.output_item.interrupted') {
      open = undefined;
    }
  }
  if (open !== undefined) throw new Error('an item was never closed');
  return items;
}

/** Everything an item says, as one text. */
export function itemText(item: WireItem): unknown {
  if (item.type === 'function_call') return item.arguments;
  if (item.type === 'custom_tool_call') return item['input'];
  return item.content?.map(({ text }) => text).join('');
}

export const STREAM_RULES: readonly StreamRule[] = [
  {
    line: 41,
    says: 'sequence_number starts at 0 and increments by 1',
    check: (events) => {
      expect(events.map(({ sequence_number }) => sequence_number)).toEqual([...events.keys()]);
    },
  },
  {
    line: 42,
    says: 'response.id is the same in created, in_progress and the terminal event',
    check: (events) => {
      const ids = events.flatMap(({ type, response }) => (LIFECYCLE.has(type) ? [response?.id] : []));
      expect(ids.length).toBe(3);
      expect(new Set(ids).size).toBe(1);
      expect(ids[0]).toMatch(/^resp_/);
    },
  },
  {
    line: 43,
    says: 'an item is added before its events, a content part before its deltas',
    check: (events) => {
      for (const { added, events: own } of itemsOf(events)) {
        const types = own.map(({ type }) => type);
        expect(types[0]).toBe('response.output_item.added');
        if (added.type !== 'message' && added.type !== 'reasoning') continue;
        expect(types[1]).toBe('response.content_part.added');
        expect(types.filter((type) => type === 'response.content_part.added')).toHaveLength(1);
      }
    },
  },
  {
    line: 44,
    says: 'the deltas are the text of the done event, of the part and of the item',
    check: (events) => {
      for (const { added, done, events: own } of itemsOf(events)) {
        const name = TEXT_EVENTS[added.type];
        // Other items come as a whole.
        if (done === undefined || name === undefined) continue;
        const field = TEXT_FIELD[name] ?? '';
        const deltas = own.filter(({ type }) => type === `${name}.delta`).map(({ delta }) => delta);
        const whole = own.filter(({ type }) => type === `${name}.done`).map((event) => event[field]);
        const parts = own.filter(({ type }) => type === 'response.content_part.done');
        expect(whole).toEqual([deltas.join('')]);
        expect(itemText(done)).toBe(deltas.join(''));
        for (const part of parts) expect(part['part']).toEqual(done.content?.[0]);
        expect(parts).toHaveLength(name.endsWith('_text') ? 1 : 0);
        expect(deltas.every((delta) => delta !== '' && delta?.isWellFormed())).toBe(true);
      }
    },
  },
  {
    line: 45,
    says: 'each item that is done deep-equals the same index of the final output',
    check: (events) => {
      const done = itemsOf(events).flatMap((item) => (item.done === undefined ? [] : [item]));
      const { output } = terminal(events).response;
      expect(done.map((item) => item.done)).toEqual(output);
      expect(done.map(({ index }) => index)).toEqual([...output.keys()]);
      for (const { added, done: item } of done) {
        const { id, type, name, call_id, role, phase, namespace } = added;
        expect(item).toMatchObject(
          Object.fromEntries(
            Object.entries({ id, type, name, call_id, role, phase, namespace }).filter(
              ([, value]) => value !== undefined,
            ),
          ),
        );
      }
      const ids = output.flatMap(({ id, call_id }) => [id, call_id].filter((each) => each !== undefined));
      expect(new Set(ids).size).toBe(ids.length);
    },
  },
  {
    line: 46,
    says: 'calls carry id, call_id, name, text and status',
    check: (events) => {
      for (const item of shownItems(events)) {
        if (item.type !== 'function_call' && item.type !== 'custom_tool_call') continue;
        expect(item.id).toMatch(item.type === 'function_call' ? /^fc_/ : /^ctc_/);
        expect(item.call_id).toMatch(/^call_/);
        expect(item.name).toMatch(/./);
        expect(typeof itemText(item)).toBe('string');
        expect(item['status']).toMatch(/^(in_progress|completed|incomplete)$/);
      }
    },
  },
  {
    line: 47,
    says: 'reasoning carries a summary',
    check: (events) => {
      for (const item of shownItems(events)) {
        if (item.type === 'reasoning') expect(Array.isArray(item['summary'])).toBe(true);
      }
    },
  },
  {
    line: 48,
    says: 'there is exactly one terminal event, and it is the last',
    check: (events) => {
      const ends = events.filter(({ type }) => TERMINAL.has(type));
      expect(ends).toEqual([events.at(-1)]);
      expect(ends[0]?.type).toBe(`response.${ends[0]?.response?.status}`);
      // A response in the background may wait in between.
      const types = events.map(({ type }) => type).filter((type) => type !== 'response.queued');
      expect(types.slice(0, 2)).toEqual(['response.created', 'response.in_progress']);
    },
  },
  {
    line: 49,
    says: 'no event but an error has an error at the top',
    check: (events) => {
      for (const event of events)
        expect(['error' in event, event.type]).toEqual([SAYS_ERROR.has(event.type), event.type]);
    },
  },
  {
    line: 70,
    says: 'all events are of one lane',
    check: (events) => {
      expect(new Set(events.map(({ stream_id }) => stream_id)).size).toBe(1);
    },
  },
];

/** Every rule. What is no response has to be one error that says all there is to say. */
export function checkStream(events: readonly WireEvent[]): void {
  const [first] = events;
  if (events.length === 1 && first?.type === 'error') return checkError(first);
  for (const { check } of STREAM_RULES) check(events);
}

/** An error is nested, has a status, and all of its four keys. */
export function checkError(event: WireEvent): void {
  expect(event.status).toBeGreaterThanOrEqual(400);
  expect(Object.keys(event.error ?? {})).toEqual(
    expect.arrayContaining(['type', 'code', 'message', 'param']),
  );
  for (const key of ['type', 'code', 'message'] as const) expect(typeof event.error?.[key]).toBe('string');
  expect(event.error?.message).not.toMatch(/\n\s+at |127\.0\.0\.1|node_modules/);
}

function shownItems(events: readonly WireEvent[]): WireItem[] {
  return events.flatMap(({ item, response }) => [
    ...(item === undefined ? [] : [item]),
    ...(response?.output ?? []),
  ]);
}
