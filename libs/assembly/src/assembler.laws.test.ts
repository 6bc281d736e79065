import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { OutputEvent, OutputHeader } from '@turnpike/formats';
import { TERMINAL_EVENTS } from '@turnpike/protocol';
import { assembler, parsed, read, run, type ClientEvent, type Message } from '../testing/script.js';
import type { Ending } from './assembler.js';

const header: fc.Arbitrary<OutputHeader> = fc.oneof(
  fc.constant({ type: 'reasoning' } as const),
  fc.record({
    type: fc.constant('message' as const),
    phase: fc.constantFrom('commentary' as const, 'final_answer' as const),
  }),
  fc.record({
    type: fc.constantFrom('function_call' as const, 'custom_tool_call' as const),
    name: fc.constantFrom('f', 'a.b-c'),
  }),
);
const text = fc.string({
  unit: fc.constantFrom('a', '"', '\\', '\n', '\u2028', '}', 'é', '😀', '\ud83d', '\u0000'),
});
const messages: fc.Arbitrary<Message[]> = fc
  .array(fc.record({ header, texts: fc.array(text, { maxLength: 5 }), complete: fc.boolean() }), {
    maxLength: 5,
  })
  .map((list) => list.map((one, index) => ({ ...one, complete: one.complete || index < list.length - 1 })));
const ending: fc.Arbitrary<Ending> = fc.constantFrom<Ending>(
  { status: 'completed' },
  { status: 'incomplete', reason: 'max_output_tokens' },
  { status: 'failed', code: 'server_error', message: 'm' },
);
const lane = fc.constantFrom(undefined, 'main', 'a.b-c_1');

type Item = Record<string, unknown> & { id: string; type: string };
const TEXT_OF: Record<string, (item: Item) => string> = {
  message: (item) => (item['content'] as { text: string }[]).map((part) => part.text).join(''),
  reasoning: (item) => (item['content'] as { text: string }[]).map((part) => part.text).join(''),
  function_call: (item) => item['arguments'] as string,
  custom_tool_call: (item) => item['input'] as string,
};

/** Cuts a parser's events into engine chunks. */
function cut(events: readonly OutputEvent[], at: readonly number[]): OutputEvent[][] {
  const bounds = [0, ...at.map((place) => place % (events.length + 1)).sort((a, b) => a - b), events.length];
  return bounds.slice(1).map((to, index) => events.slice(bounds[index], to));
}

/** The final response without its random ids. */
function anonymous(response: unknown): string {
  return JSON.stringify(response).replaceAll(/(msg|rs|fc|ctc|call)_[0-9a-f]{48}/g, '$1');
}

describe('for any output', () => {
  it('the events keep every promise of the protocol', () => {
    fc.assert(
      fc.property(messages, ending, lane, fc.array(fc.nat(), { maxLength: 4 }), (list, how, streamId, at) => {
        const response = assembler({}, streamId);
        const frames = run(response, cut(parsed(list), at), how);
        const events = read(frames);

        for (const [index, { type, json }] of frames.entries()) {
          expect(json.startsWith(`{"type":"${type}","sequence_number":${index},`)).toBe(true);
          expect(json).not.toMatch(/[\n\r]/);
        }
        expect(events.map((event) => event['stream_id'])).toEqual(events.map(() => streamId));
        const terminals = events.filter(({ type }) => (TERMINAL_EVENTS as readonly string[]).includes(type));
        expect(terminals).toHaveLength(1);
        expect(events.at(-1)).toBe(terminals[0]);
        const final = terminals[0]?.['response'] as { output: Item[] };
        expect(final).toEqual(JSON.parse(JSON.stringify(response.response)));
        expect(final.output).toHaveLength(list.length);
        checkItems(events, final.output, list);
      }),
      { numRuns: 300 },
    );
  });

  it('the same text in other chunks gives the same response', () => {
    fc.assert(
      fc.property(messages, fc.array(fc.nat(), { maxLength: 6 }), ending, (list, at, how) => {
        const joined = list.map((one) => ({ ...one, texts: [one.texts.join('')] }));
        const single = list.map((one) => ({ ...one, texts: one.texts.flatMap((piece) => [...piece]) }));
        const finals = [list, joined, single].map((variant) => {
          const response = assembler();
          run(response, cut(parsed(variant), at), how);
          return anonymous(response.response);
        });
        expect(new Set(finals).size).toBe(1);
      }),
    );
  });

  it('ids are fresh for every response', () => {
    const ids = [1, 2].map(() => {
      const response = assembler();
      run(response, [parsed([{ header: { type: 'function_call', name: 'f' }, texts: [] }])]);
      return response.items[0]?.item.id;
    });
    expect(new Set(ids).size).toBe(2);
  });
});

/** Walks the events the way an accumulating client does. */
function checkItems(events: readonly ClientEvent[], output: readonly Item[], list: readonly Message[]): void {
  for (const [index, item] of output.entries()) {
    const own = events.filter(
      (event) => event['output_index'] === index && !event.type.startsWith('response.output_item'),
    );
    expect(new Set(own.map((event) => event['item_id']))).toEqual(new Set([item.id]));
    const place = (type: string) =>
      events.findIndex((event) => event.type === type && event['output_index'] === index);
    const added = place('response.output_item.added');
    const done = place('response.output_item.done');
    for (const event of own) {
      expect(event.sequence_number).toBeGreaterThan(added);
      expect(event.sequence_number).toBeLessThan(done);
    }
    const first = events[added]?.['item'] as Item;
    expect([first.id, first.type, first['call_id']]).toEqual([item.id, item.type, item['call_id']]);
    expect(events[done]?.['item']).toEqual(item);

    const text = own.map((event) => (event['delta'] as string | undefined) ?? '').join('');
    const told = own.find(({ type }) => /(text|arguments|input)\.done$/.test(type));
    expect(told?.['text'] ?? told?.['arguments'] ?? told?.['input']).toBe(text);
    const part = own.find(({ type }) => type === 'response.content_part.done')?.['part'];
    if (item.type === 'message' || item.type === 'reasoning') expect(part).toMatchObject({ text });
    else expect(part).toBeUndefined();
    expect(TEXT_OF[item.type]?.(item)).toBe(text);
    expect(text).toBe(list[index]?.texts.join(''));
    expect(item['status']).toBe(list[index]?.complete === true ? 'completed' : 'incomplete');
  }
}
