import { describe, expect, it } from '@jest/globals';
import type { Item, Tool } from '@turnpike/protocol';
import fc from 'fast-check';
import type { Piece, Place } from '../format.js';
import { chat } from './chat.js';
import { ChunkTexts } from './chunk-texts.js';
import { IMAGE, MESSAGES } from './markers.js';
import { requestTexts } from './request-texts.js';
import { chatFunctions, chatTargets } from './tools.js';

const format = chat();
const NO_CALLS = new Map();

const user = (text: string): Item => ({
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text }],
});
const said = (text: string): Item => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
});
const thought = (text: string): Item => ({
  type: 'reasoning',
  summary: [],
  content: [{ type: 'reasoning_text', text }],
});
const called = (id: string): Item => ({
  type: 'function_call',
  call_id: id,
  name: 'f',
  arguments: '{"a": 1}',
});
const output = (id: string): Item => ({ type: 'function_call_output', call_id: id, output: 'ok' });

function encode(pieces: readonly Piece[]): number[] {
  return pieces.flatMap((piece) =>
    typeof piece === 'number' ? [piece] : [...format.tokenizer.encode(piece)],
  );
}

/** Ids of a conversation, as rendering puts them together. */
function idsOf(items: readonly Item[]): number[] {
  const head = format.renderHead({ instructions: 'Be kind.', tools: [] });
  let place: Place;
  const body = items.flatMap((item) => {
    const rendered = format.renderItem(item, { calls: NO_CALLS, place });
    place = rendered.place;
    return [...rendered.pieces];
  });
  return encode([...head, ...body, ...format.closing(place)]);
}

function messagesOf(items: readonly Item[], images: readonly Buffer[] = []): Record<string, unknown>[] {
  const { messages } = requestTexts(
    [Int32Array.from(idsOf(items))],
    images.map((image) => [image]),
  );
  return (JSON.parse(`[${Buffer.concat([...messages]).toString()}]`) as Record<string, unknown>[]).slice(1);
}

const ENTRY = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a": 1}' } };

describe('messages', () => {
  it('are one for everything that the assistant does in one go', () => {
    const items = [
      user('x'),
      thought('hm'),
      said('let me see'),
      called('c1'),
      called('c2'),
      output('c1'),
      output('c2'),
      said('done'),
    ];
    expect(messagesOf(items)).toEqual([
      { role: 'user', content: 'x' },
      {
        role: 'assistant',
        reasoning_content: 'hm',
        content: 'let me see',
        tool_calls: [ENTRY, { ...ENTRY, id: 'c2' }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'ok' },
      { role: 'tool', tool_call_id: 'c2', content: 'ok' },
      { role: 'assistant', content: 'done' },
    ]);
  });

  it('have content, though none was said', () => {
    expect(messagesOf([called('c1'), output('c1'), thought('hm')])).toEqual([
      { role: 'assistant', tool_calls: [ENTRY], content: '' },
      { role: 'tool', tool_call_id: 'c1', content: 'ok' },
      { role: 'assistant', reasoning_content: 'hm', content: '' },
    ]);
  });

  it('say what tools of other kinds were asked and gave, but no binary data', () => {
    const items = [
      { type: 'program', call_id: 'p', code: 'print(6 * 7)' },
      { type: 'program_output', id: 'po', call_id: 'p', result: '42' },
      { type: 'image_generation_call', id: 'ig', result: 'aGk=', revised_prompt: 'a cat' },
    ];
    const program = {
      id: 'p',
      type: 'function',
      function: { name: 'program', arguments: '{"code":"print(6 * 7)"}' },
    };
    expect(messagesOf(items as Item[])).toEqual([
      { role: 'assistant', tool_calls: [program], content: '' },
      { role: 'tool', tool_call_id: 'p', content: '{"result":"42"}' },
      { role: 'assistant', content: 'image_generation_call: {"revised_prompt":"a cat"}' },
    ]);
  });

  it('show images in their places, and texts alone as strings', () => {
    const parts: Item = {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_image', image_url: 'data:,' },
        { type: 'input_text', text: 'what is it?' },
        { type: 'input_image', image_url: 'data:,' },
      ],
    };
    const images = ['{"url":"a"}', '{"url":"b"}'].map((text) => Buffer.from(text));
    expect(messagesOf([parts], images)).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'a' } },
          { type: 'text', text: 'what is it?' },
          { type: 'image_url', image_url: { url: 'b' } },
        ],
      },
    ]);
  });

  it('know developers as the system, and calls that were cut short not at all', () => {
    const developer: Item = {
      type: 'message',
      role: 'developer',
      content: [{ type: 'input_text', text: 'be brief' }],
    };
    expect(messagesOf([developer, { ...called('c1'), status: 'incomplete' } as Item])).toEqual([
      { role: 'system', content: 'be brief' },
    ]);
  });

  it('are valid JSON whatever the texts hold, and in whatever order items come', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', '"', '\\', '\n', '\ud800', '<|message|>', '😀', '},'),
    });
    const item = fc.oneof(
      text.map(user),
      text.map(said),
      text.map(thought),
      text.map((id) => called(`c${id}`)),
      text.map((id) => output(`c${id}`)),
    );
    fc.assert(
      fc.property(fc.array(item, { maxLength: 12 }), (items) => {
        const messages = messagesOf(items);
        // No message has a field twice, or both sides of one.
        for (const message of messages) expect(message).toHaveProperty('content');
        const calls = messages.flatMap(({ tool_calls: entries }) => (entries as unknown[] | undefined) ?? []);
        expect(calls).toHaveLength(items.filter(({ type }) => type === 'function_call').length);
      }),
      { numRuns: 200 },
    );
  });

  it('of a longer conversation begin with those of a shorter one, byte for byte', () => {
    const items = [
      user('x'),
      thought('hm'),
      called('c1'),
      output('c1'),
      said('done'),
      user('and?'),
      said('ok'),
    ];
    const textOf = (count: number) =>
      Buffer.concat([
        ...requestTexts([Int32Array.from(idsOf(items.slice(0, count)))], []).messages,
      ]).toString();
    for (const count of [1, 4, 6]) expect(textOf(items.length).startsWith(textOf(count))).toBe(true);
  });
});

describe('functions', () => {
  const tools: Tool[] = [
    { type: 'function', name: 'f', description: 'does f', parameters: { type: 'object' }, strict: true },
    { type: 'custom', name: 'patch', format: { type: 'grammar', syntax: 'lark', definition: 'start: /x/' } },
    { type: 'namespace', name: 'files', tools: [{ type: 'function', name: 'read' }] },
    { type: 'tool_search', execution: 'client', description: 'finds tools' },
    { type: 'web_search' },
  ];

  it('are what the client runs, by names that functions may have', () => {
    const functions = chatFunctions(tools).map(
      (text) => (JSON.parse(text) as { function: { name: string } }).function,
    );
    expect(functions.map(({ name }) => name)).toEqual(['f', 'patch', 'files__read', 'tool_search']);
    expect(functions[0]).toEqual({
      name: 'f',
      description: 'does f',
      parameters: { type: 'object' },
      strict: true,
    });
    expect(JSON.stringify(functions[1])).toContain('start: /x/');
    expect(chatTargets(tools).get('files__read')).toEqual({
      type: 'function',
      name: 'read',
      namespace: 'files',
    });
  });

  it('stand in front of the messages', () => {
    const head = encode(format.renderHead({ tools }));
    const { functions, messages } = requestTexts([Int32Array.from(head)], []);
    expect(JSON.parse(`[${Buffer.concat([...functions]).toString()}]`)).toHaveLength(4);
    expect(messages).toEqual([]);
  });
});

describe('the texts of chunks', () => {
  const isControl = (id: number) => id === IMAGE || id === MESSAGES;

  it('are turned once, however a chunk grows, and forks get theirs', () => {
    const texts = new ChunkTexts(format.tokenizer, isControl);
    const ids = [...format.tokenizer.encode('one 😀 two '), IMAGE, ...format.tokenizer.encode(' three')];
    const chunk = new Int32Array(100);
    chunk.set(ids);
    const expected = (count: number) =>
      ids
        .slice(0, count)
        .reduce((bytes, id) => bytes + (isControl(id) ? 1 : format.tokenizer.bytes(id).length), 0);
    for (let count = 1; count <= ids.length; count++) {
      // Each as long as it is, and those before it again, as forks ask for them.
      for (const length of [count, Math.ceil(count / 2)]) {
        const parts = texts.partsOf(chunk.subarray(0, length));
        expect(
          parts.reduce<number>((sum, part) => sum + (typeof part === 'number' ? 1 : part.length), 0),
        ).toBe(expected(length));
      }
    }
    expect(texts.turned).toBe(ids.length);
    const [before, image, behind] = texts.partsOf(chunk.subarray(0, ids.length));
    expect([String(before), image, String(behind)]).toEqual(['one 😀 two ', IMAGE, ' three']);
  });
});
