import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ApiError } from '../errors.js';
import { parseInput } from './items.js';
import { quotable } from './quotable.js';
import { parseRequest } from './request.js';
import { parseTools } from './tools.js';

/** What a prompt may look like: with blanks, long, or in another script. None of it may show in an error. */
const PROMPTS = ['the secret plan', `secretplan${'x'.repeat(200)}`, '秘密的计划'];
const LEAK = /secret|秘密/;

/** A request that uses every structure the protocol has. */
const WHOLE: Json = {
  model: 'm',
  previous_response_id: 'resp_1',
  instructions: 'i',
  input: [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 't' }] },
    {
      role: 'assistant',
      content: [{ type: 'output_text', text: 't' }],
      status: 'completed',
      phase: 'commentary',
    },
    {
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: 't' }],
      content: [{ type: 'reasoning_text', text: 't' }],
    },
    { type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 't' }] },
    { type: 'custom_tool_call', call_id: 'c', name: 'f', input: 'x' },
    { type: 'custom_tool_call_output', call_id: 'c', output: 'x' },
    { type: 'additional_tools', tools: [{ type: 'function', name: 'f', parameters: {} }] },
    { type: 'tool_search_call', call_id: 'c', execution: 'client', arguments: { q: 'x' } },
    {
      type: 'tool_search_output',
      call_id: 'c',
      tools: [{ type: 'function', name: 'f', defer_loading: true }],
    },
    { type: 'configuration_update', reasoning: { effort: 'low' }, text: { format: { type: 'text' } } },
    { type: 'shell_call', call_id: 'c', action: { commands: ['ls'] } },
    {
      type: 'shell_call_output',
      call_id: 'c',
      output: [{ stdout: '', stderr: '', outcome: { type: 'exit', exit_code: 1 } }],
    },
    { type: 'local_shell_call_output', id: 'c', output: 'x' },
    { type: 'apply_patch_call', call_id: 'c', operation: { type: 'delete_file', path: 'p' } },
    { type: 'web_search_call', action: { type: 'search', queries: ['q'] }, results: [{ text: 't' }] },
    { type: 'mcp_approval_request', id: 'a', server_label: 's', name: 'n', arguments: '{}' },
    { type: 'agent_message', author: 'a', recipient: 'b', content: [{ type: 'input_text', text: 't' }] },
  ],
  tools: [
    { type: 'function', name: 'f', parameters: { type: 'object' }, strict: true },
    { type: 'custom', name: 'f', format: { type: 'grammar', syntax: 'lark', definition: 'd' } },
    { type: 'namespace', name: 'n', tools: [{ type: 'custom', name: 'f' }] },
    { type: 'web_search' },
    { type: 'tool_search', execution: 'client', parameters: {} },
  ],
  tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
  reasoning: { effort: 'low', context: 'auto' },
  text: { format: { type: 'json_schema', name: 'a', schema: {} } },
  include: ['reasoning.encrypted_content'],
  metadata: { a: 'b' },
  truncation: 'auto',
  temperature: 1,
  max_output_tokens: 5,
  store: true,
  stream_id: 'main',
};

type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
type Path = readonly (string | number)[];

function pathsOf(value: Json, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [path, ...entries.flatMap(([key, entry]) => pathsOf(entry, [...path, key]))];
}

/** `value` with `change` made at `path`; with a path that does not lead anywhere, unchanged. */
function changed(value: Json, [key, ...rest]: Path, change: (old: Json) => Json): Json {
  if (key === undefined) return change(value);
  if (Array.isArray(value))
    return value.map((entry, index) => (index === key ? changed(entry, rest, change) : entry));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(
    entries.map(([name, entry]) => [name, name === key ? changed(entry, rest, change) : entry]),
  );
}

const prompt = fc.constantFrom(...PROMPTS);
const junk = fc.oneof(
  prompt,
  fc.constantFrom<Json>(null, true, 1e300, '', [], {}),
  prompt.map((text): Json => [text]),
  prompt.map((text): Json => ({ type: text, [text]: text, role: text })),
  fc.jsonValue({ maxDepth: 2 }).map((value) => value as Json),
);
/** Replaces what stands at a place, or puts a field beside what an object has there. */
const change: fc.Arbitrary<(old: Json) => Json> = fc.oneof(
  junk.map((value) => () => value),
  fc.tuple(fc.constantFrom('__proto__', 'constructor', 'type', ...PROMPTS), junk).map(([key, value]) => {
    return (old: Json) =>
      typeof old === 'object' && old !== null
        ? { ...old, ...(JSON.parse(JSON.stringify({ [key]: value })) as object) }
        : value;
  }),
);
const request = fc
  .array(fc.tuple(fc.constantFrom(...pathsOf(WHOLE)), change), { minLength: 1, maxLength: 2 })
  .map((changes) => changes.reduce<Json>((value, [path, apply]) => changed(value, path, apply), WHOLE));

describe('any JSON', () => {
  it('is parsed or refused with an ApiError that shows no prompt text', () => {
    let refused = 0;
    fc.assert(
      fc.property(fc.oneof({ weight: 9, arbitrary: request }, fc.jsonValue()), (value) => {
        try {
          parseRequest(value, 'websocket');
        } catch (thrown) {
          if (!(thrown instanceof ApiError)) throw thrown;
          refused++;
          expect(thrown.status).toBe(400);
          expect(thrown.body.message).not.toMatch(LEAK);
          expect(thrown.body.param ?? '').not.toMatch(LEAK);
          expect(thrown.body.message.length).toBeLessThan(1_500);
        }
        expect(Object.keys(Object.prototype)).toEqual([]);
      }),
      { numRuns: 3_000 },
    );
    expect(refused).toBeGreaterThan(1_000);
  });

  it('is taken where nothing is wrong with it', () => {
    expect(parseRequest(WHOLE, 'websocket').input).toHaveLength(18);
  });

  it.each(PROMPTS)('never shows %j, wherever it stands', (text) => {
    for (const path of pathsOf(WHOLE)) {
      try {
        parseRequest(
          changed(WHOLE, path, () => text),
          'websocket',
        );
      } catch (thrown) {
        expect(JSON.stringify((thrown as ApiError).body)).not.toMatch(LEAK);
      }
    }
  });
});

const text = fc.string({ unit: 'grapheme' });
const optionally = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const word = fc.string({ unit: fc.constantFrom('a', 'b', '_'), minLength: 1, maxLength: 6 });
const status = optionally(fc.constantFrom('in_progress', 'completed', 'incomplete', null));
const id = optionally(fc.constantFrom('id_1', null));
const inputPart = fc.oneof(
  fc.record({ type: fc.constant('input_text'), text }),
  fc.record({
    type: fc.constant('input_image'),
    image_url: optionally(text),
    detail: optionally(fc.constantFrom('low', 'high', 'original', 'auto', null)),
  }),
  fc.record({
    type: fc.constant('input_file'),
    file_id: optionally(word),
    filename: optionally(text),
    extra: text,
  }),
);
const messagePart = fc.oneof(
  inputPart,
  fc.record({
    type: fc.constant('output_text'),
    text,
    annotations: optionally(fc.constantFrom(null, [{ a: 1 }])),
  }),
  fc.record({ type: fc.constant('refusal'), refusal: text }),
);
const tool = fc.oneof(
  fc.record({
    type: fc.constant('function'),
    name: word,
    parameters: optionally(fc.dictionary(word, fc.jsonValue())),
    strict: optionally(fc.constantFrom(true, null)),
  }),
  fc.record({ type: fc.constant('custom'), name: word, description: optionally(text) }),
  fc.record({ type: fc.constantFrom('web_search', 'mcp'), anything: fc.jsonValue() }),
);
const call = { id, status, call_id: word, name: word, namespace: optionally(word) };
const toolOutput = { id, status, call_id: word, output: fc.oneof(text, fc.array(inputPart)) };
const item = fc.oneof(
  fc.record({
    type: optionally(fc.constantFrom('message', null)),
    id,
    status,
    role: fc.constantFrom('user', 'assistant', 'system', 'developer'),
    content: fc.oneof(text, fc.array(messagePart)),
  }),
  fc.record({
    type: fc.constant('reasoning'),
    id,
    status,
    summary: optionally(fc.array(fc.record({ type: fc.constant('summary_text'), text }))),
    encrypted_content: optionally(text),
  }),
  fc.record({ type: fc.constant('function_call'), ...call, arguments: text }),
  fc.record({ type: fc.constant('custom_tool_call'), ...call, input: text }),
  fc.record({ type: fc.constantFrom('function_call_output', 'custom_tool_call_output'), ...toolOutput }),
  fc.record({ type: fc.constant('additional_tools'), id, tools: fc.array(tool) }),
);

describe('the canonical form', () => {
  it('of items is a fixed point: what was parsed once is parsed to the same again', () => {
    fc.assert(
      fc.property(fc.oneof(text, fc.array(item)), (input) => {
        const once = JSON.stringify(parseInput(input));
        expect(JSON.stringify(parseInput(JSON.parse(once)))).toBe(once);
      }),
    );
  });

  it('of tools is a fixed point', () => {
    fc.assert(
      fc.property(fc.array(tool), (tools) => {
        const once = JSON.stringify(parseTools(tools, 'tools').tools);
        expect(JSON.stringify(parseTools(JSON.parse(once), 'tools').tools)).toBe(once);
      }),
    );
  });

  it('keeps nulls out, except where they are the client’s own data', () => {
    fc.assert(
      fc.property(fc.array(item.filter((one) => one.type !== 'additional_tools')), (input) => {
        expect(JSON.stringify(parseInput(input).map((one) => ({ ...one, content: [] })))).not.toContain(
          ':null',
        );
      }),
    );
  });
});

describe('quotable', () => {
  it.each(['assistant', 'call_0a1b|fc_2c3d', 'functions.shell:0', 'gpt-oss-120b', 'x'.repeat(128)])(
    'shows %j',
    (name) => {
      expect(quotable(name)).toBe(name);
    },
  );

  it.each([...PROMPTS, '', 'a\nb', 'x'.repeat(129)])('shows only the length of %j', (value) => {
    expect(quotable(value)).toBe(`(${value.length} characters)`);
  });
});
