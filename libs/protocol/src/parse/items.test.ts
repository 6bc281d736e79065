import { describe, expect, it } from '@jest/globals';
import { toolOutputText } from '../items.js';
import { parseInput } from './items.js';

/** An item as it would be serialised: what is undefined is not there. */
function canonical(item: unknown): unknown {
  return JSON.parse(JSON.stringify(parseInput([item])[0]));
}

const call = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' };
const custom = { type: 'custom_tool_call', call_id: 'c1', name: 'f', input: 'x' };
const output = { type: 'function_call_output', call_id: 'c1', output: 'x' };
const text = { type: 'input_text', text: 'x' };

describe('canonical form', () => {
  it('of a string input is one user message', () => {
    expect(parseInput('hi')).toEqual([
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
    ]);
  });

  it.each([undefined, null, []])('of %j is no items', (input) => {
    expect(parseInput(input)).toEqual([]);
  });

  it.each(['user', 'system', 'developer'])('of string content from %s is one input_text part', (role) => {
    const content = [{ type: 'input_text', text: 'hi' }];
    expect(canonical({ role, content: 'hi' })).toEqual({ type: 'message', role, content });
    expect(canonical({ type: 'message', role, content: 'hi' })).toEqual({ type: 'message', role, content });
  });

  it('of string content from the assistant is one output_text part', () => {
    const content = [{ type: 'output_text', text: '15. QED.', annotations: [], logprobs: [] }];
    expect(canonical({ role: 'assistant', content: '15. QED.' })).toEqual({
      type: 'message',
      role: 'assistant',
      content,
    });
  });

  it('fills in what an output_text part leaves out', () => {
    const message = { role: 'assistant', content: [{ type: 'output_text', text: 'hello' }] };
    const content = [{ type: 'output_text', text: 'hello', annotations: [], logprobs: [] }];
    expect(canonical(message)).toEqual({ type: 'message', role: 'assistant', content });
    const nulls = {
      role: 'assistant',
      content: [{ type: 'output_text', text: 'hello', annotations: null, logprobs: null }],
    };
    expect(canonical(nulls)).toEqual(canonical(message));
  });

  it('keeps empty content, empty text and the phase', () => {
    expect(canonical({ role: 'user', content: [] })).toEqual({ type: 'message', role: 'user', content: [] });
    expect(canonical({ role: 'user', content: '' })).toMatchObject({
      content: [{ type: 'input_text', text: '' }],
    });
    expect(canonical({ role: 'assistant', content: [], phase: 'commentary' })).toMatchObject({
      phase: 'commentary',
    });
  });

  it.each([
    [
      'message',
      { type: null, id: null, role: 'user', status: null, content: 'hi', phase: null },
      { role: 'user', content: 'hi' },
    ],
    [
      'reasoning',
      { type: 'reasoning', id: null, summary: null, content: null, encrypted_content: null, status: null },
      { type: 'reasoning' },
    ],
    ['function_call', { ...call, id: null, namespace: null, status: null }, call],
    ['custom_tool_call', { ...custom, id: null, namespace: null, status: null }, custom],
    ['function_call_output', { ...output, id: null, status: null }, output],
    ['additional_tools', { type: 'additional_tools', id: null, tools: null }, { type: 'additional_tools' }],
  ])('treats nulls of a %s as absence', (_, withNulls, without) => {
    expect(parseInput([withNulls])).toEqual(parseInput([without]));
  });

  it.each([
    [{ type: 'reasoning', id: 'rs_1', summary: [] }],
    [{ type: 'reasoning', id: 'rs_1', summary: [], content: [] }],
    [{ type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'looked at the file' }] }],
    [
      {
        type: 'reasoning',
        summary: [],
        content: [{ type: 'reasoning_text', text: 'hm' }],
        encrypted_content: 'e',
      },
    ],
    [{ ...call, id: 'fc_1', namespace: 'n', status: 'completed' }],
    [{ ...custom, id: 'ctc_1', status: 'incomplete' }],
    [{ ...output, id: 'o_1', status: 'completed' }],
    [{ ...output, output: '' }],
    [{ ...output, output: [] }],
    [
      {
        ...output,
        type: 'custom_tool_call_output',
        output: [text, { type: 'input_image', image_url: 'data:x' }],
      },
    ],
    [
      {
        type: 'message',
        role: 'user',
        content: [text, { type: 'input_file', file_id: 'f', filename: 'a.txt' }],
      },
    ],
    [
      {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'refusal', refusal: 'no' }],
        status: 'completed',
        id: 'msg_1',
      },
    ],
    [{ type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: 'f' }] }],
  ])('is unchanged where an item is canonical already: %j', (item) => {
    expect(canonical(item)).toEqual(item);
  });

  it('drops fields it does not know, at every level', () => {
    const passthrough = { internal_chat_message_metadata_passthrough: { a: 1 }, caller: null, async: true };
    for (const item of [call, custom, output, { type: 'message', role: 'user', content: [text] }]) {
      expect(canonical({ ...item, ...passthrough })).toEqual(item);
    }
    expect(canonical({ role: 'user', content: [{ ...text, cache_control: {} }] })).toMatchObject({
      content: [text],
    });
    expect(canonical({ ...output, output: [{ ...text, cache_control: {} }] })).toEqual({
      ...output,
      output: [text],
    });
  });

  it('is not touched by __proto__ keys', () => {
    const hostile = JSON.parse(
      '{"__proto__":{"status":"completed"},"role":"user","content":[{"type":"input_text","text":"x","__proto__":{"detail":"y"}}]}',
    ) as unknown;
    expect(parseInput([hostile])).toEqual(parseInput([{ role: 'user', content: 'x' }]));
    const typeless = JSON.parse('{"__proto__":{"type":"message","role":"user","content":"x"}}') as unknown;
    expect(() => parseInput([typeless])).toThrow("Missing required parameter: 'input[0].type'.");
  });
});

describe('toolOutputText', () => {
  it('joins text parts with nothing between them', () => {
    expect(toolOutputText('as it is')).toBe('as it is');
    expect(
      toolOutputText([
        { type: 'input_text', text: 'line 1\n' },
        { type: 'input_text', text: 'line 2' },
      ]),
    ).toBe('line 1\nline 2');
    expect(toolOutputText([{ type: 'input_image' }, { type: 'input_text', text: 'x' }])).toBe('x');
    expect(toolOutputText([])).toBe('');
  });
});
