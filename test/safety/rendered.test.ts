import { describe, expect, it } from '@jest/globals';
import type { Format, Piece, Place } from '@turnpike/formats';
import { ApiError, ITEM_TYPES, parseItem, parseTools, type Item } from '@turnpike/protocol';
import { headTexts, itemTexts } from '@turnpike/safety';
import { FORMATS } from './every-format.js';
import { FIXED, marked, schema, tools, wordsIn, wordsOf } from './marked-words.js';

/**
 * Safety reads what formats show. Every string of an item gets a word of its own; the words that a format shows have to be
 * among those that safety was given. conversations.test.ts has the same of whole chains.
 */

const call_id = 'call_1';

/** One item of each type, with something in each of its fields. */
const ITEMS: Record<string, object[]> = {
  message: [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'a' },
        { type: 'input_text', text: 'b' },
      ],
    },
    { role: 'developer', content: 'a' },
    { role: 'system', content: 'a' },
    { role: 'assistant', content: [{ type: 'output_text', text: 'a', annotations: [], logprobs: [] }] },
    { role: 'assistant', phase: 'commentary', content: [{ type: 'refusal', refusal: 'a' }] },
  ],
  reasoning: [
    { summary: [{ type: 'summary_text', text: 'a' }], content: [{ type: 'reasoning_text', text: 'a' }] },
  ],
  function_call: [{ call_id, name: 'n', namespace: 's', arguments: '{"a":"b"}' }],
  function_call_output: [
    { call_id, output: 'a' },
    { call_id, output: [{ type: 'input_text', text: 'a' }] },
  ],
  custom_tool_call: [{ call_id, name: 'n', namespace: 's', input: 'a' }],
  custom_tool_call_output: [{ call_id, output: 'a' }],
  additional_tools: [{ role: 'developer', tools }],
  tool_search_call: [
    { call_id, execution: 'client', arguments: { FREE: 'a' } },
    { call_id: null, execution: 'server', arguments: { FREE: ['a'] } },
  ],
  tool_search_output: [{ call_id, execution: 'client', tools }],
  configuration_update: [{ text: { format: { type: 'json_schema', name: 'n', description: 'd', schema } } }],
  shell_call: [{ call_id, action: { commands: ['a', 'b'], FREE: 'c' } }],
  shell_call_output: [
    { call_id, output: [{ stdout: 'a', stderr: 'b', outcome: { type: 'exit', exit_code: 0 } }] },
  ],
  local_shell_call: [{ call_id, action: { command: ['a'], env: { FREE: 'b' }, working_directory: 'c' } }],
  local_shell_call_output: [{ call_id, output: 'a' }],
  apply_patch_call: [{ call_id, operation: { type: 'create_file', path: 'a', diff: 'b' } }],
  apply_patch_call_output: [{ call_id, status: 'completed', output: 'a' }],
  computer_call: [
    { call_id, action: { type: 'type', text: 'a', FREE: 'b' } },
    { call_id, actions: [{ type: 'type', text: 'a' }] },
  ],
  computer_call_output: [
    { call_id, output: { type: 'computer_screenshot', image_url: 'data:image/png;base64,AA' } },
  ],
  web_search_call: [
    {
      status: 'completed',
      action: { type: 'search', query: 'a' },
      results: [{ title: 'a', url: 'b', snippet: 'c', text: 'd' }],
    },
    { status: 'completed', action: { type: 'find', url: 'a', pattern: 'b' } },
    { status: 'completed', action: { type: 'search', queries: ['a', 'b'] } },
  ],
  file_search_call: [{ status: 'completed', queries: ['a'], results: [{ filename: 'a', text: 'b' }] }],
  code_interpreter_call: [{ status: 'completed', code: 'a', outputs: [{ type: 'logs', logs: 'b' }] }],
  image_generation_call: [{ status: 'completed', result: 'AAAA', revised_prompt: 'a' }],
  mcp_list_tools: [{ server_label: 'a', tools: [{ name: 'b', description: 'c' }] }],
  mcp_call: [
    { server_label: 'a', name: 'b', arguments: 'c', output: 'd' },
    { server_label: 'a', name: 'b', arguments: 'c', error: { FREE: 'd' } },
    { server_label: 'a', name: 'b', arguments: 'c', error: 'd' },
  ],
  mcp_approval_request: [{ id: 'mcpr_1', server_label: 'a', name: 'b', arguments: 'c' }],
  mcp_approval_response: [{ approval_request_id: 'mcpr_1', approve: true, reason: 'a' }],
  program: [{ call_id, code: 'a' }],
  program_output: [{ call_id, result: 'a' }],
  agent_message: [{ author: 'a', recipient: 'b', content: [{ type: 'text', text: 'c' }] }],
  multi_agent_call: [{ call_id, action: 'a', arguments: 'b' }],
  multi_agent_call_output: [{ call_id, output: [{ type: 'output_text', text: 'a' }] }],
};
/** Names of fields of other items and of none. */
const UNKNOWN = {
  FREE: 'a',
  annotations: [{ FREE: 'b' }],
  headers: 'c',
  detail: 'd',
  authorization: 'e',
  file_id: 'f',
};
/** What another item stands for is rendered in its place; what is referred to is put in before anything sees it. */
const STAND_INS = ['compaction', 'compaction_trigger', 'item_reference'];

describe('every string that a format shows is one that safety reads', () => {
  it('for every type of item there is', () => {
    expect(Object.keys(ITEMS).sort()).toEqual(
      [...ITEM_TYPES].filter((type) => !STAND_INS.includes(type)).sort(),
    );
  });

  const cases = Object.entries(ITEMS).flatMap(([type, items]) => items.map((item) => [type, item] as const));
  it.each(cases)('%s %j', (type, fields) => {
    const item: Item = parseItem({ type, ...(marked(fields, FIXED) as object) }, 'input[0]');
    expectAllRead(item);
  });

  it.each(cases)('%s %j with fields that nobody knows', (type, fields) => {
    const item = { type, ...withUnknown(fields) };
    expectAllRead(parseItem(marked(item, FIXED), 'input[0]'));
  });

  const ESCAPED = '{"\\u0077901w":["\\u0077902w",{"a":"x\\n\\u0077903w"}]}';
  it.each([
    ['function_call', { call_id, name: 'n', arguments: ESCAPED }],
    ['mcp_call', { server_label: 'a', name: 'b', arguments: ESCAPED, output: 'd' }],
    ['mcp_approval_request', { id: 'mcpr_1', server_label: 'a', name: 'b', arguments: ESCAPED }],
    ['multi_agent_call', { call_id, action: 'a', arguments: ESCAPED }],
    ['custom_tool_call', { call_id, name: 'n', input: ESCAPED }],
    ['function_call_output', { call_id, output: ESCAPED }],
  ])('of a %s, also where JSON in it is written in escapes', (type, fields) => {
    expectAllRead(parseItem({ type, ...fields }, 'input[0]'));
  });

  it('of the head: instructions, tools, the format of the answer', () => {
    const text = {
      format: marked({ type: 'json_schema', name: 'n', description: 'd', schema }, FIXED),
    } as never;
    const instructions = marked('be kind', FIXED) as string;
    const given = parseTools(marked(tools, FIXED), 'tools').tools;
    const read = new Set(
      headTexts({ instructions, tools: given, text }).flatMap(({ text: each }) => wordsIn(each)),
    );
    expect(read.size).toBeGreaterThan(20);
    for (const format of FORMATS) {
      const { format: responseFormat } = text as { format: never };
      const pieces = format.renderHead({ instructions, tools: given, responseFormat });
      const shown = wordsOf(pieces);
      expect(shown.length).toBeGreaterThan(10);
      expect([format.name, shown.filter((word) => !read.has(word))]).toEqual([format.name, []]);
    }
  });
});

/** The fields, and fields of other names in every object among them. */
function withUnknown(fields: object): object {
  const known = Object.entries(fields).map(([key, value]): [string, unknown] => [key, everywhere(value)]);
  return { ...Object.fromEntries(known), ...UNKNOWN };
}
function everywhere(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each): unknown => everywhere(each));
  return typeof value === 'object' && value !== null ? withUnknown(value) : value;
}

function expectAllRead(item: Item): void {
  const read = new Set(itemTexts(item).flatMap(({ text }) => wordsIn(text)));
  for (const format of FORMATS) {
    const unread = shownBy(format, item).filter((word) => !read.has(word));
    expect([format.name, unread]).toEqual([format.name, []]);
  }
}

/** Some formats write an item only with what follows it, or at the end. */
function shownBy(format: Format, item: Item): string[] {
  const { pieces, place } = format.renderItem(item, { calls: new Map(), place: undefined });
  return [...wordsOf(pieces), ...wordsOf(closing(format, place))];
}

/** A template that refuses a conversation shows none of it. */
function closing(format: Format, place: Place): readonly Piece[] {
  try {
    return format.closing(place);
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.code === 'template_refused') return [];
    throw thrown;
  }
}
