import { describe, expect, it } from '@jest/globals';
import type { OutputEvent, OutputHeader } from '@turnpike/formats';
import { ApiError, type OutputItem } from '@turnpike/protocol';
import { answerCheck, type CallableTool } from '@turnpike/validation';
import { answerFault, OutputRules, type OutputRulesOptions } from './output-rules.js';

const f: CallableTool = { type: 'function', name: 'f' };
const g: CallableTool = { type: 'function', name: 'g' };
const call = (name: string): OutputHeader => ({ type: 'function_call', name });
const thought: OutputHeader = { type: 'reasoning' };
const note: OutputHeader = { type: 'message', phase: 'commentary' };
const answer: OutputHeader = { type: 'message', phase: 'final_answer' };

function rules(
  tools: Partial<OutputRulesOptions['tools']>,
  options: Partial<OutputRulesOptions> = {},
): OutputRules {
  const all = { required: false, allowed: 'any' as const, maxCalls: Infinity, ...tools };
  return new OutputRules({ tools: all, bindsAnswer: false, reasons: true, ...options });
}

/** Feeds whole messages; the headers that came through, and whether sampling was stopped. */
function feed(given: OutputRules, ...headers: OutputHeader[]): { passed: OutputHeader[]; stop: boolean } {
  const events = headers.flatMap((header): OutputEvent[] => [
    { kind: 'open', header },
    { kind: 'text', text: 'x' },
    { kind: 'close', ids: Int32Array.of(1), sampled: 1, complete: true },
  ]);
  const { passed, stop } = given.take(events);
  return { passed: passed.flatMap((event) => (event.kind === 'open' ? [event.header] : [])), stop };
}

describe('calls', () => {
  it('pass as they come when nothing is asked', () => {
    const given = rules({});
    const headers = [thought, note, call('f'), call('undeclared'), answer];
    expect(feed(given, ...headers)).toEqual({ passed: headers, stop: false });
    expect(given.next()).toBeUndefined();
  });

  it('of a search for tools are calls like any other', () => {
    const search: OutputHeader = { type: 'tool_search_call', name: 'tool_search' };
    const target: CallableTool = { type: 'tool_search', name: 'tool_search' };
    expect(feed(rules({ allowed: [target], required: true }), search)).toEqual({
      passed: [search],
      stop: false,
    });
    expect(feed(rules({ allowed: [f] }), search)).toEqual({ passed: [], stop: true });
    expect(feed(rules({ maxCalls: 1 }), search, search)).toEqual({ passed: [search], stop: true });
    const forced = rules({ allowed: [target], required: true }, { reasons: false });
    expect(forced.first()).toEqual({ kind: 'call', targets: [target] });
  });

  it('are stopped behind as many as there may be, and nothing follows', () => {
    for (const after of [call('f'), thought, note, answer]) {
      const given = rules({ maxCalls: 2 });
      expect(feed(given, thought, call('f'), call('g'), after)).toEqual({
        passed: [thought, call('f'), call('g')],
        stop: true,
      });
      expect(given.next()).toBeUndefined();
    }
  });

  it('count once they are complete', () => {
    const given = rules({ maxCalls: 1 });
    const cut: OutputEvent[] = [
      { kind: 'open', header: call('f') },
      { kind: 'close', ids: new Int32Array(), sampled: 1, complete: false },
    ];
    expect(given.take(cut).stop).toBe(false);
    expect(feed(given, call('f')).stop).toBe(false);
  });

  it('that are not allowed are not begun, and the model is made to answer', () => {
    const given = rules({ allowed: [f] });
    expect(feed(given, thought, call('g'))).toEqual({ passed: [thought], stop: true });
    expect(given.next()).toEqual({ kind: 'answer' });
    expect(feed(given, answer, call('g'))).toEqual({ passed: [answer], stop: true });
    expect(given.next()).toBeUndefined();
  });

  it('that are not allowed end a response that has an answer or a call', () => {
    for (const before of [answer, call('f')]) {
      const given = rules({ allowed: [f] });
      expect(feed(given, before, call('g')).passed).toEqual([before]);
      expect(given.next()).toBeUndefined();
    }
  });

  it('are told apart by type and namespace', () => {
    const allowed = [{ type: 'custom', name: 'f', namespace: 'n' }] as const;
    expect(feed(rules({ allowed }), { type: 'custom_tool_call', name: 'f', namespace: 'n' }).stop).toBe(
      false,
    );
    expect(feed(rules({ allowed }), { type: 'custom_tool_call', name: 'f' }).stop).toBe(true);
    expect(feed(rules({ allowed }), { type: 'function_call', name: 'f', namespace: 'n' }).stop).toBe(true);
  });
});

describe('a required call', () => {
  const required = { required: true, allowed: [f, g] };
  const opening = { kind: 'call', targets: [f, g] };

  it('may be preceded by reasoning and a note', () => {
    const given = rules(required);
    expect(given.first()).toBeUndefined();
    expect(feed(given, thought, note, call('g')).stop).toBe(false);
    expect(given.next()).toBeUndefined();
  });

  it.each([
    ['answers', [answer]],
    ['calls another tool', [call('h')]],
    ['only thinks', []],
  ])('is opened for a model that %s', (_name, headers) => {
    const given = rules(required);
    expect(feed(given, thought, ...headers).passed).toEqual([thought]);
    expect(given.next()).toEqual(opening);
    expect(feed(given, call('f')).stop).toBe(false);
    expect(given.next()).toBeUndefined();
  });

  it('is opened at once for a model that shall not reason', () => {
    expect(rules(required, { reasons: false }).first()).toEqual(opening);
  });

  it.each([
    ['an answer', answer],
    ['a note', note],
    ['a tool that is not allowed', call('h')],
  ])('fails when behind its opening comes %s', (_name, header) => {
    const given = rules(required, { reasons: false });
    given.first();
    expect(feed(given, header)).toEqual({ passed: [], stop: true });
    expect(() => given.next()).toThrow(new ApiError('tool_call_missing'));
  });
});

describe('an answer that a grammar binds', () => {
  it('is sampled by itself', () => {
    const given = rules({}, { bindsAnswer: true });
    expect(given.first()).toBeUndefined();
    expect(feed(given, thought, answer)).toEqual({ passed: [thought], stop: true });
    expect(given.next()).toEqual({ kind: 'answer' });
    expect(feed(given, answer).stop).toBe(false);
    expect(given.next()).toBeUndefined();
  });

  it('is opened at once where the model neither reasons nor calls', () => {
    expect(rules({ allowed: [] }, { bindsAnswer: true, reasons: false }).first()).toEqual({ kind: 'answer' });
    expect(rules({}, { bindsAnswer: true, reasons: false }).first()).toBeUndefined();
  });
});

describe('answerFault', () => {
  const check = answerCheck({ type: 'json_object' }) ?? (() => undefined);
  const fault = (...items: OutputItem[]) =>
    answerFault(
      items.map((item) => ({ item, ids: new Int32Array() })),
      check,
    );
  const message = (text: string, phase: 'commentary' | 'final_answer' = 'final_answer'): OutputItem => ({
    type: 'message',
    role: 'assistant',
    phase,
    content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
  });

  it('looks at answers alone', () => {
    expect(fault(message('well', 'commentary'), message('{}'))).toBeUndefined();
    expect(fault(message('{}'), message('{'))?.message).toContain('not valid JSON');
    expect(fault()?.message).toContain('there is none');
  });

  it('waits while tools are called', () => {
    const toolCall: OutputItem = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
    expect(fault(message('calling'), toolCall)).toBeUndefined();
  });

  it('keeps what the schema says out of the log', () => {
    const schema = { type: 'object', required: ['marker'] };
    const other = answerCheck({ type: 'json_schema', name: 's', schema });
    const error = answerFault([{ item: message('{}'), ids: new Int32Array() }], other ?? check);
    expect(error?.code).toBe('invalid_answer');
    expect(String((error?.cause as Error).stack)).not.toContain('marker');
  });
});
