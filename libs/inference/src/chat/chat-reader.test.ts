import { describe, expect, it } from '@jest/globals';
import type { CallTarget, OutputEvent } from '@turnpike/formats';
import { ChatReader } from './chat-reader.js';

const TARGETS = new Map<string, CallTarget>([
  ['f', { type: 'function', name: 'f' }],
  ['g', { type: 'function', name: 'g' }],
  ['files__read', { type: 'function', name: 'read', namespace: 'files' }],
  ['patch', { type: 'custom', name: 'patch' }],
  ['tool_search', { type: 'tool_search', name: 'tool_search' }],
]);

const reader = () => new ChatReader({ targets: TARGETS, estimate: (text) => text.length });
const delta = (fields: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta: fields, finish_reason: finish }],
});
const call = (fields: object) => delta({ tool_calls: [fields] });
const fn = (name: string | undefined, written: unknown) => ({ function: { name, arguments: written } });

/** Items that came of these events, each as its header and text. */
function itemsOf(events: readonly OutputEvent[]): string[] {
  const items: string[] = [];
  let open = false;
  for (const event of events) {
    if (event.kind === 'open') {
      expect(open).toBe(false);
      open = true;
      const { header } = event;
      const name =
        'name' in header ? ` ${'namespace' in header ? `${header.namespace}.` : ''}${header.name}` : '';
      items.push(`${header.type}${name}: `);
    } else if (event.kind === 'text') items[items.length - 1] += event.text;
    else {
      open = false;
      if (!event.complete) items[items.length - 1] += ' (cut)';
      expect(event.ids).toBeUndefined();
    }
  }
  expect(open).toBe(false);
  return items;
}

/** Items of a whole answer. */
function read(...events: object[]): string[] {
  const chat = reader();
  const chunks = events.map((event) => chat.read(event as Record<string, unknown>));
  const finish = chunks.findLast((chunk) => chunk.finish)?.finish;
  const closing = chat.close(finish === 'stop' ? 'stop' : 'abort');
  return itemsOf([...chunks.flatMap((chunk) => chunk.events), ...closing]);
}

describe('calls of a stream', () => {
  const TWO = ['function_call f: {"a":1}', 'function_call g: {"b":2}'];
  const END = delta({}, 'tool_calls');

  it.each<[string, object[]]>([
    [
      'come in pieces by index',
      [
        call({ index: 0, id: 'x', type: 'function', ...fn('f', '') }),
        call({ index: 0, ...fn(undefined, '{"a"') }),
        call({ index: 0, ...fn(undefined, ':1}') }),
        call({ index: 1, id: 'y', type: 'function', ...fn('g', '{"b":2}') }),
      ],
    ],
    [
      'repeat their ids and names',
      [
        call({ index: 0, id: 'x', ...fn('f', '{"a"') }),
        call({ index: 0, id: 'x', ...fn('f', ':1}') }),
        call({ index: 1, id: 'y', ...fn('g', '{"b"') }),
        call({ index: 1, id: 'y', ...fn('g', ':2}') }),
      ],
    ],
    [
      'have no index',
      [
        call({ id: 'x', ...fn('f', '{"a"') }),
        call({ id: 'x', ...fn(undefined, ':1}') }),
        call({ id: 'y', ...fn('g', '{"b":2}') }),
      ],
    ],
    [
      'have neither index nor id',
      [call(fn('f', '{"a"')), call(fn(undefined, ':1}')), call(fn('g', '{"b":2}'))],
    ],
    [
      'all have index 0',
      [
        call({ index: 0, id: 'x', ...fn('f', '{"a":1}') }),
        call({ index: 0, id: 'y', ...fn('g', '{"b":2}') }),
      ],
    ],
    [
      'have one id for all',
      [
        call({ index: 0, id: 'x', ...fn('f', '{"a":1}') }),
        call({ index: 1, id: 'x', ...fn('g', '{"b":2}') }),
      ],
    ],
    [
      'come whole, with objects for arguments',
      [
        delta({
          tool_calls: [
            { id: 'x', ...fn('f', { a: 1 }) },
            { id: 'y', ...fn('g', { b: 2 }) },
          ],
        }),
      ],
    ],
    [
      'come in turns',
      [
        call({ index: 0, id: 'x', ...fn('f', '{"a"') }),
        call({ index: 1, id: 'y', ...fn('g', '{"b"') }),
        call({ index: 0, ...fn(undefined, ':1}') }),
        call({ index: 1, ...fn(undefined, ':2}') }),
      ],
    ],
    [
      'are named late',
      [
        call({ index: 0, id: 'x', ...fn('', '{"a"') }),
        call({ index: 0, ...fn('f', ':1}') }),
        call({ index: 1, id: 'y', ...fn('g', '{"b":2}') }),
      ],
    ],
  ])('that %s', (_, events) => {
    expect(read(...events, END)).toEqual(TWO);
    // However they are cut at the end, nothing is whole that is not.
    expect(read(...events).slice(0, 1)).toEqual(
      TWO.slice(0, 1).map((item) => expect.stringContaining(item.slice(0, 16))),
    );
  });

  it('stream their arguments as they come', () => {
    const chat = reader();
    chat.read(call({ index: 0, id: 'x', ...fn('f', '{"a"') }));
    const { events } = chat.read(call({ index: 0, ...fn(undefined, ':') }));
    expect(events).toEqual([{ kind: 'text', text: ':' }]);
  });

  it('are those of the tools behind their names', () => {
    const patch = '*** Begin\n"x"';
    expect(
      read(
        call({ index: 0, ...fn('files__read', '') }),
        call({ index: 1, ...fn('patch', JSON.stringify({ input: patch })) }),
        call({ index: 2, ...fn('tool_search', '{"q":1}') }),
        call({ index: 3, ...fn('unknown', '{}') }),
        END,
      ),
    ).toEqual([
      'function_call files.read: {}',
      `custom_tool_call patch: ${patch}`,
      'tool_search_call tool_search: {"q":1}',
      'function_call unknown: {}',
    ]);
  });

  it.each([
    ['f<|channel|>commentary', '{}', 'f: {}'],
    ['functions.f:0', '{}', 'f: {}'],
    ['gone<|constrain|>json', '{}', 'gone: {}'],
    ['f', '', 'f: {}'],
    ['f', 'null', 'f: {}'],
    ['f', '"{\\"a\\":\\"\\\\n\\"}"', 'f: {"a":"\\n"}'],
    ['f', 'nope', 'f: nope'],
  ])('named %j with %j are calls that clients can read', (name, written, item) => {
    const pieces = [...written].map((char) => call({ index: 0, ...fn(undefined, char) }));
    expect(read(call({ index: 0, ...fn(name, '') }), ...pieces, END)).toEqual([`function_call ${item}`]);
  });

  it('are one where a server has the old field', () => {
    expect(read(delta({ function_call: { name: 'f', arguments: '{}' } }, 'function_call'))).toEqual([
      'function_call f: {}',
    ]);
  });

  it('that are cut short are told as such', () => {
    const cut = [call({ index: 0, ...fn('f', '{"a":1}') }), call({ index: 1, ...fn('g', '{"b') })];
    expect(read(...cut, delta({}, 'length'))).toEqual([
      'function_call f: {"a":1}',
      'function_call g: {"b (cut)',
    ]);
  });

  it('keep text that comes in between for the end', () => {
    expect(
      read(
        call({ index: 0, ...fn('f', '{') }),
        delta({ content: 'so' }),
        call({ index: 0, ...fn(undefined, '}') }),
        END,
      ),
    ).toEqual(['function_call f: {}', 'message: so']);
  });
});

describe('reasoning among the content', () => {
  it.each<[string, string[]]>([
    ['<think>\nhm\n</think>\n\nyes', ['reasoning: hm\n', 'message: yes']],
    ['\n<think>a</b> <think></think>b</think>', ['reasoning: a</b> <think>', 'message: b</think>']],
    ['<think></think>yes', ['message: yes']],
    ['<think>hm', ['reasoning: hm']],
    ['<think>hm</thi', ['reasoning: hm</thi']],
    ['<thinker>', ['message: <thinker>']],
    ['<thin', ['message: <thin']],
    ['Use <think>x</think>.', ['message: Use <think>x</think>.']],
    ['<think>hm</think>\n', ['reasoning: hm']],
  ])('of %j, whole and by character', (content, items) => {
    expect(read(delta({ content }, 'stop'))).toEqual(items);
    expect(read(...[...content].map((char) => delta({ content: char })), delta({}, 'stop'))).toEqual(items);
  });

  it('is content where the server names its reasoning, and ends at a call', () => {
    expect(read(delta({ reasoning: 'hm' }), delta({ content: '<think>' }, 'stop'))).toEqual([
      'reasoning: hm',
      'message: <think>',
    ]);
    expect(
      read(delta({ content: '<think>hm</' }), call({ index: 0, ...fn('f', '{}') }), delta({}, 'tool_calls')),
    ).toEqual(['reasoning: hm</', 'function_call f: {}']);
  });
});

describe('texts of a stream', () => {
  it('go on behind an end that is said with every piece', () => {
    expect(read(delta({ content: 'a' }, 'stop'), delta({ content: 'b' }, 'stop'))).toEqual(['message: ab']);
  });

  it.each([
    [{ reasoning_content: 'hm' }],
    [{ reasoning: 'hm' }],
    [{ reasoning: 'hm', reasoning_content: 'hm' }],
    [{ reasoning_details: [{ type: 'reasoning.text', text: 'hm' }] }],
    [{ reasoning: 'hm', reasoning_details: [{ type: 'reasoning.text', text: 'hm' }] }],
    [
      {
        reasoning_details: [
          { type: 'reasoning.summary', summary: 'hm' },
          { type: 'reasoning.encrypted', data: '…' },
        ],
      },
    ],
    [{ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }] }],
  ])('with reasoning as %j', (fields) => {
    expect(
      read(delta({ role: 'assistant', content: '' }), delta(fields), delta({ content: 'yes' }, 'stop')),
    ).toEqual(['reasoning: hm', 'message: yes']);
  });

  it('in parts, as a refusal, and as one object', () => {
    expect(read(delta({ content: [{ type: 'text', text: 'a' }] }), delta({ content: 'b' }, 'stop'))).toEqual([
      'message: ab',
    ]);
    expect(read(delta({ refusal: 'I will not.', content: null }, 'stop'))).toEqual(['message: I will not.']);
    const message = { content: 'whole', tool_calls: [{ id: 'x', ...fn('f', '{}') }] };
    expect(read({ choices: [{ message, finish_reason: 'tool_calls' }] })).toEqual([
      'message: whole',
      'function_call f: {}',
    ]);
  });

  it.each([
    ['stop', 'stop'],
    ['tool_calls', 'stop'],
    ['function_call', 'stop'],
    ['eos', 'stop'],
    ['eos_token', 'stop'],
    ['STOP', 'stop'],
    ['end_turn', 'stop'],
    ['length', 'length'],
    ['MAX_TOKENS', 'length'],
    ['content_filter', 'content_filter'],
    ['error', 'abort'],
    [null, undefined],
    ['', undefined],
  ])('that end with %j end by %s', (reason, finish) => {
    expect(reader().read(delta({}, reason)).finish).toBe(finish);
  });

  it('say what was used, in whichever chunk', () => {
    const usage = {
      prompt_tokens: 9,
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 3 },
    };
    expect(reader().read({ choices: [], usage }).usage).toEqual({
      promptTokens: 9,
      completionTokens: 5,
      cachedTokens: 4,
      reasoningTokens: 3,
    });
    expect(reader().read({ choices: [], usage: null }).usage).toBeUndefined();
  });

  it.each([
    [{ cached_tokens: 4 }, { cachedTokens: 4 }],
    [{ prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 5 }, { cachedTokens: 4 }],
    // Of a proxy that translates, and leaves the other name at zero.
    [{ prompt_tokens_details: { cached_tokens: 0 }, cache_read_input_tokens: 4 }, { cachedTokens: 4 }],
    [{ cache_creation_input_tokens: 3 }, { cacheWriteTokens: 3 }],
    [
      { prompt_tokens_details: { cache_write_tokens: 3, cached_tokens: 2 } },
      { cachedTokens: 2, cacheWriteTokens: 3 },
    ],
    [{ cached_tokens: '4', prompt_cache_hit_tokens: -1 }, {}],
  ])('say what was cached by the names that servers have for it: %j', (usage, expected) => {
    expect(reader().read({ choices: [], usage }).usage).toEqual(expected);
  });

  it.each([
    [{ error: { message: 'x', code: 429 } }, 'server_is_overloaded'],
    [{ choices: [{ error: { code: 502, message: 'x' } }] }, 'engine_error'],
    [{ object: 'error', message: 'maximum context length', code: 400 }, 'context_length_exceeded'],
  ])('D10: that are an error: %j', (event, code) => {
    expect(() => reader().read(event)).toThrow(expect.objectContaining({ code }));
  });
});
