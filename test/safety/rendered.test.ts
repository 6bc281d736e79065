import { describe, expect, it } from '@jest/globals';
import { harmony, type Format } from '@turnpike/formats';
import { ITEM_TYPES, parseItem, parseTools, type Item } from '@turnpike/protocol';
import { headTexts, itemTexts } from '@turnpike/safety';

/**
 * Safety reads what formats show. Every string of an item gets a word of its own; the words that a format shows have to be
 * among those that safety was given.
 */
const FORMATS: Format[] = [harmony()];

let words = 0;
/** A value with a word of its own in each of its strings and in the names of free fields. */
function marked(value: unknown, keep: ReadonlySet<string>): unknown {
  if (typeof value === 'string') return `${value}w${(words += 1)}w`;
  if (Array.isArray(value)) return value.map((each) => marked(each, keep));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      if (key === 'FREE') return [`keyw${(words += 1)}w`, marked(each, keep)];
      return [key, keep.has(key) ? each : marked(each, keep)];
    }),
  );
}

/** Fields whose values are words of the protocol. */
const FIXED = new Set([
  'type',
  'role',
  'status',
  'execution',
  'call_id',
  'id',
  'approval_request_id',
  'phase',
  'image_url',
  'effort',
  'syntax',
  'encrypted_content',
]);

const call_id = 'call_1';
const schema = {
  type: 'object',
  description: 'd',
  title: 't',
  properties: {
    FREE: { type: 'string', description: 'd', enum: ['e'], default: 'f', examples: ['g'] },
    b: { oneOf: [{ type: 'string', description: 'h' }] },
  },
};
const tool = { type: 'function', name: 'n', description: 'd', parameters: schema };
const tools = [
  tool,
  {
    type: 'custom',
    name: 'c',
    description: 'd',
    format: { type: 'grammar', syntax: 'lark', definition: 'g' },
  },
  { type: 'namespace', name: 's', description: 'd', tools: [tool] },
  { type: 'tool_search', execution: 'client', description: 'd', parameters: schema },
];

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
/** What another item stands for is rendered in its place; what is referred to is put in before anything sees it. */
const STAND_INS = ['compaction', 'compaction_trigger', 'item_reference'];

const wordsIn = (text: string): string[] => text.match(/w\d+w/g) ?? [];

describe('every string that a format shows is one that safety reads', () => {
  it('for every type of item there is', () => {
    expect(Object.keys(ITEMS).sort()).toEqual(
      [...ITEM_TYPES].filter((type) => !STAND_INS.includes(type)).sort(),
    );
  });

  const cases = Object.entries(ITEMS).flatMap(([type, items]) => items.map((item) => [type, item] as const));
  it.each(cases)('%s %j', (type, fields) => {
    const item: Item = parseItem({ type, ...(marked(fields, FIXED) as object) }, 'input[0]');
    const read = new Set(itemTexts(item).flatMap(({ text }) => wordsIn(text)));
    for (const format of FORMATS) {
      const shown = shownBy(format, item);
      expect(shown.filter((word) => !read.has(word))).toEqual([]);
    }
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
      const shown = pieces.flatMap((piece) => (typeof piece === 'string' ? wordsIn(piece) : []));
      expect(shown.length).toBeGreaterThan(10);
      expect(shown.filter((word) => !read.has(word))).toEqual([]);
    }
  });
});

function shownBy(format: Format, item: Item): string[] {
  const { pieces } = format.renderItem(item, { calls: new Map() } as never);
  return pieces.flatMap((piece) => (typeof piece === 'string' ? wordsIn(piece) : []));
}
