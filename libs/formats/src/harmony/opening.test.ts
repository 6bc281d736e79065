import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Tool } from '@turnpike/protocol';
import { type CallTarget, type FinishReason, type Opening, type OutputEvent } from '../format.js';
import { harmony } from './harmony.js';
import { encodePieces, idsOf, messagesOf, written } from './test-support.js';

const format = harmony();
const tools: Tool[] = [
  { type: 'function', name: 'get_weather' },
  { type: 'custom', name: 'note' },
  { type: 'namespace', name: 'mcp__files', tools: [{ type: 'function', name: 'read' }] },
];
const weather: CallTarget = { type: 'function', name: 'get_weather' };
const note: CallTarget = { type: 'custom', name: 'note' };
const read: CallTarget = { type: 'function', name: 'read', namespace: 'mcp__files' };
const call = (...targets: CallTarget[]): Opening => ({ kind: 'call', targets });
const answer: Opening = { kind: 'answer' };

describe('generationPrompt with an opening', () => {
  it.each<[string, Opening, string]>([
    [
      'a function',
      call(weather),
      '<|start|>assistant to=functions.get_weather<|channel|>commentary <|constrain|>json<|message|>',
    ],
    ['a custom tool', call(note), '<|start|>assistant to=functions.note<|channel|>commentary<|message|>'],
    [
      'a tool in a namespace',
      call(read),
      '<|start|>assistant to=mcp__files.read<|channel|>commentary <|constrain|>json<|message|>',
    ],
    [
      'any of a namespace, up to the token that holds the dot',
      call(weather, note),
      '<|start|>assistant to=functions',
    ],
    ['a call of any of several namespaces', call(weather, read), '<|start|>assistant to'],
    ['the answer', answer, '<|start|>assistant<|channel|>final<|message|>'],
  ])('opens %s', (_name, opening, expected) => {
    const ids = format.generationPrompt(undefined, undefined, opening);
    expect(written(ids)).toBe(expected);
    expect(ids.slice(0, format.generationPrompt(undefined).length)).toEqual(
      format.generationPrompt(undefined),
    );
  });

  it('is the beginning of what history has for that call, token for token', () => {
    for (const target of [weather, note, read]) {
      const item =
        target.type === 'function'
          ? { type: 'function_call' as const, call_id: 'c', arguments: '{}' }
          : { type: 'custom_tool_call' as const, call_id: 'c', input: '{}' };
      const whole = encodePieces(
        format.renderItem(
          { ...item, name: target.name, namespace: target.namespace },
          { calls: new Map(), place: undefined },
        ).pieces,
      );
      for (const opening of [call(target), call(target, { ...target, name: 'other' }), call(weather, read)]) {
        const opened = format.generationPrompt(undefined, undefined, opening);
        expect(whole.slice(0, opened.length)).toEqual(opened);
      }
    }
  });
});

describe('output behind an opened header', () => {
  it.each<[string, Opening, string, string]>([
    ['the arguments alone', call(weather), '{"city":"Oslo"}<|call|>', '{"city":"Oslo"}'],
    ['its end missing', call(weather), '{"city":"Oslo"}', '{"city":"Oslo"}'],
    [
      'the rest of the name',
      call(weather, note),
      '.get_weather<|channel|>commentary <|constrain|>json<|message|>{}<|call|>',
      '{}',
    ],
    [
      'the whole name',
      call(weather, read),
      '=functions.get_weather<|channel|>commentary<|message|>{}<|call|>',
      '{}',
    ],
  ])('is a call with %s', (_name, opening, sampled, text) => {
    const opened = format.generationPrompt(undefined, undefined, opening);
    const parser = format.parser(tools, opened);
    const ids = idsOf(sampled);
    const [message, ...others] = messagesOf([...parser.push(ids), ...parser.finish('stop')]);
    expect(others).toEqual([]);
    expect(message).toMatchObject({
      header: { type: 'function_call', name: 'get_weather' },
      text,
      sampled: ids.length,
      complete: true,
    });
    const end = sampled.endsWith('<|call|>') ? [] : idsOf('<|call|>');
    expect(message?.ids).toEqual([...opened, ...ids, ...end]);
  });

  it('is a call cut short when the limit comes first, and leaves nothing', () => {
    const parser = format.parser(tools, format.generationPrompt(undefined, undefined, call(weather)));
    const [message] = messagesOf([...parser.push(idsOf('{"ci')), ...parser.finish('length')]);
    expect(message).toMatchObject({ text: '{"ci', complete: false, ids: [], sampled: idsOf('{"ci').length });
  });

  it('is read the same in any chunking', () => {
    const fragment = fc.constantFrom(
      ...[
        '{"city":"Oslo"}',
        '.note',
        '.get_weather',
        '=functions.get_weather',
        '=mcp__files.read',
        '<|channel|>commentary',
        '<|channel|>final',
        ' <|constrain|>json',
        '<|message|>',
        '<|end|>',
        '<|call|>',
        '<|return|>',
        '<|start|>assistant',
        '안녕 👩‍👩‍👧',
      ].map(idsOf),
    );
    const output = fc.array(fragment, { maxLength: 12 }).map((parts) => parts.flat());
    const openings = fc.constantFrom(
      answer,
      call(weather),
      call(note),
      call(weather, note),
      call(weather, read),
    );
    const reasons = fc.constantFrom<FinishReason>('stop', 'length', 'abort');
    fc.assert(
      fc.property(openings, output, reasons, fc.array(fc.nat(5)), (opening, ids, reason, sizes) => {
        const opened = format.generationPrompt(undefined, undefined, opening);
        const whole = format.parser(tools, opened);
        const expected = joined([...whole.push(ids), ...whole.finish(reason)]);
        const chunked = format.parser(tools, opened);
        const events: OutputEvent[] = [];
        let from = 0;
        for (const size of sizes) events.push(...chunked.push(ids.slice(from, (from += size))));
        events.push(...chunked.push(ids.slice(from)), ...chunked.finish(reason));
        expect(joined(events)).toEqual(expected);
        const messages = messagesOf(expected);
        if (messages.length > 0) {
          expect(messages.reduce((sum, { sampled }) => sum + sampled, 0)).toBe(ids.length);
        }
        const [first] = messages;
        if (first !== undefined && first.ids.length > 0)
          expect(first.ids.slice(0, opened.length)).toEqual(opened);
      }),
      { numRuns: 500 },
    );
  });
});

/** Joins adjacent texts, which is what may differ between chunkings. */
function joined(events: readonly OutputEvent[]): OutputEvent[] {
  const result: OutputEvent[] = [];
  for (const event of events) {
    const last = result.at(-1);
    if (event.kind === 'text' && last?.kind === 'text') last.text += event.text;
    else result.push({ ...event });
  }
  return result;
}
