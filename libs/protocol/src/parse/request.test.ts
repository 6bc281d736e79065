import { describe, expect, it } from '@jest/globals';
import { ApiError } from '../errors.js';
import { parseRequest, parseRequestInSlices, parseStreamId } from './request.js';

const DEFAULTS = {
  model: 'm',
  input: [],
  tools: [],
  toolsKey: '[]',
  toolChoice: 'auto',
  parallelToolCalls: true,
  reasoning: {},
  text: { format: { type: 'text' } },
  include: [],
  store: true,
  generate: true,
  background: false,
  stream: false,
  metadata: {},
  temperature: 1,
  topP: 1,
  topLogprobs: 0,
  truncation: 'disabled',
  compacts: false,
  appends: false,
};

function parse(fields: Record<string, unknown>, transport: 'http' | 'websocket' = 'http') {
  return parseRequest({ model: 'm', ...fields }, transport);
}

function errorOf(fields: unknown, transport: 'http' | 'websocket' = 'http'): ApiError {
  try {
    parseRequest(fields, transport);
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
  throw new Error('the request was taken');
}

describe('parseRequest', () => {
  it('fills in the defaults', () => {
    expect(JSON.parse(JSON.stringify(parse({})))).toEqual(DEFAULTS);
  });

  it('treats null of every field that may be left out, and empty settings, as absence', () => {
    const fields = [
      'input previous_response_id conversation instructions tools tool_choice parallel_tool_calls max_tool_calls',
      'reasoning text include store generate stream metadata temperature top_p top_logprobs max_output_tokens',
      'truncation user safety_identifier prompt_cache_key prompt_cache_options service_tier background prompt',
    ].flatMap((line) => line.split(' '));
    const nulls = Object.fromEntries(fields.map((field) => [field, null]));
    expect(parse(nulls)).toEqual(parse({}));
    const inner = {
      reasoning: { effort: null, summary: null, context: null },
      text: { format: null, verbosity: null },
      prompt_cache_options: { prewarm: null },
    };
    expect(parse(inner)).toEqual(parse({}));
    expect(
      parse({ text: {}, reasoning: {}, metadata: {}, tools: [], tool_choice: 'auto', input: [] }),
    ).toEqual(parse({}));
  });

  it('reads every field', () => {
    const tools = [{ type: 'function', name: 'f' }];
    const format = { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true };
    const request = parse({
      input: 'hi',
      previous_response_id: 'resp_0',
      instructions: 'Be brief.',
      tools,
      tool_choice: { type: 'function', name: 'f' },
      parallel_tool_calls: false,
      max_tool_calls: 2,
      reasoning: { effort: 'xhigh', summary: 'auto', context: 'all_turns' },
      text: { format, verbosity: 'low' },
      include: ['reasoning.encrypted_content'],
      store: false,
      generate: false,
      stream: true,
      metadata: { a: '1' },
      temperature: 0,
      top_p: 0.5,
      top_logprobs: 20,
      max_output_tokens: 1,
      truncation: 'auto',
      context_management: [{ type: 'compaction', compact_threshold: 1000 }],
      append: null,
      user: '',
      safety_identifier: 's',
      prompt_cache_key: 'k',
      service_tier: 'flex',
    });
    expect(request).toEqual({
      model: 'm',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
      sentAsText: 'input',
      previousResponseId: 'resp_0',
      instructions: 'Be brief.',
      tools,
      toolsKey: JSON.stringify(tools),
      toolChoice: { type: 'function', name: 'f' },
      parallelToolCalls: false,
      maxToolCalls: 2,
      reasoning: { effort: 'xhigh', summary: 'auto', context: 'all_turns' },
      text: { format, verbosity: 'low' },
      include: ['reasoning.encrypted_content'],
      store: false,
      generate: false,
      background: false,
      stream: true,
      metadata: { a: '1' },
      temperature: 0,
      topP: 0.5,
      topLogprobs: 20,
      maxOutputTokens: 1,
      truncation: 'auto',
      compacts: false,
      compactThreshold: 1000,
      appends: false,
      user: '',
      safetyIdentifier: 's',
      promptCacheKey: 'k',
      serviceTier: 'flex',
    });
  });

  it('ignores fields it does not know, at every level', () => {
    const unknown = {
      client_metadata: { turn_id: 't' },
      moderation: {},
      stream_options: { include_obfuscation: false, include_usage: true },
      background: false,
      background_options: { completion_window: '8h' },
      reasoning: { mode: 'pro', generate_summary: null },
      text: { format: { type: 'text', extra: 1 }, extra: 1 },
      prompt_cache_options: { ttl: '1h' },
      __proto__: null,
    };
    expect(parse(unknown)).toEqual(parse({}));
  });

  it.each([{ generate: false }, { prompt_cache_options: { prewarm: true } }])(
    'makes a warm-up of %j',
    (fields) => {
      expect(parse(fields).generate).toBe(false);
    },
  );

  it.each<[string, unknown, string, string | null]>([
    ['a list', [], 'invalid_type', null],
    ['a string', 'hi', 'invalid_type', null],
    ['nothing', null, 'invalid_type', null],
    ['no model', { input: 'hi' }, 'missing_required_parameter', 'model'],
    ['a null model', { model: null }, 'missing_required_parameter', 'model'],
    ['an empty model', { model: '' }, 'invalid_value', 'model'],
    ['a model that is a number', { model: 4 }, 'invalid_type', 'model'],
    ['an empty parent', { model: 'm', previous_response_id: '' }, 'invalid_value', 'previous_response_id'],
    ['instructions that are a list', { model: 'm', instructions: [] }, 'invalid_type', 'instructions'],
    ['a flag that is a string', { model: 'm', store: 'false' }, 'invalid_type', 'store'],
    ['a number that is a string', { model: 'm', temperature: '1' }, 'invalid_type', 'temperature'],
    ['a number above the range', { model: 'm', temperature: 2.1 }, 'invalid_value', 'temperature'],
    ['a number below the range', { model: 'm', top_p: -0.1 }, 'invalid_value', 'top_p'],
    ['a top_p that no engine takes', { model: 'm', top_p: 0 }, 'invalid_value', 'top_p'],
    ['a number that is endless', { model: 'm', top_p: Infinity }, 'invalid_type', 'top_p'],
    ['half a token', { model: 'm', max_output_tokens: 1.5 }, 'invalid_type', 'max_output_tokens'],
    ['no tokens', { model: 'm', max_output_tokens: 0 }, 'invalid_value', 'max_output_tokens'],
    [
      'too many tokens to count',
      { model: 'm', max_output_tokens: 1e300 },
      'invalid_value',
      'max_output_tokens',
    ],
    ['an unknown effort', { model: 'm', reasoning: { effort: 'huge' } }, 'invalid_value', 'reasoning.effort'],
    ['reasoning that is a string', { model: 'm', reasoning: 'high' }, 'invalid_type', 'reasoning'],
    ['an unknown truncation', { model: 'm', truncation: 'middle' }, 'invalid_value', 'truncation'],
    [
      'a format without type',
      { model: 'm', text: { format: {} } },
      'missing_required_parameter',
      'text.format.type',
    ],
    [
      'an unknown format',
      { model: 'm', text: { format: { type: 'xml' } } },
      'invalid_value',
      'text.format.type',
    ],
    [
      'a schema without name',
      { model: 'm', text: { format: { type: 'json_schema', schema: {} } } },
      'missing_required_parameter',
      'text.format.name',
    ],
    [
      'a schema with a bad name',
      { model: 'm', text: { format: { type: 'json_schema', name: 'a b', schema: {} } } },
      'invalid_value',
      'text.format.name',
    ],
    [
      'a schema that is missing',
      { model: 'm', text: { format: { type: 'json_schema', name: 'a' } } },
      'missing_required_parameter',
      'text.format.schema',
    ],
    ['include that is a string', { model: 'm', include: 'a' }, 'invalid_type', 'include'],
    ['an entry of include', { model: 'm', include: [5] }, 'invalid_value', 'include[0]'],
    [
      'something else to include',
      { model: 'm', include: ['reasoning.encrypted_content', 'reasoning.summary'] },
      'invalid_value',
      'include[1]',
    ],
    ['stream_options that are a list', { model: 'm', stream_options: [] }, 'invalid_type', 'stream_options'],
    [
      'an option of the stream',
      { model: 'm', stream_options: { include_obfuscation: 'no' } },
      'invalid_type',
      'stream_options.include_obfuscation',
    ],
    ['an item', { model: 'm', input: [{ role: 'user' }] }, 'missing_required_parameter', 'input[0].content'],
    ['a tool', { model: 'm', tools: [{ type: 'function' }] }, 'missing_required_parameter', 'tools[0].name'],
    ['a user that is too long', { model: 'm', user: 'u'.repeat(1_025) }, 'invalid_value', 'user'],
    ['a model that is too long', { model: 'm'.repeat(1_025) }, 'invalid_value', 'model'],
    ['background that is a string', { model: 'm', background: 'yes' }, 'invalid_type', 'background'],
    [
      'background without store',
      { model: 'm', background: true, store: false },
      'invalid_value',
      'background',
    ],
    [
      'two parents',
      { model: 'm', conversation: 'conv_1', previous_response_id: 'resp_1' },
      'invalid_value',
      'conversation',
    ],
    ['a stored prompt', { model: 'm', prompt: { id: 'pmpt_1' } }, 'unsupported_parameter', 'prompt'],
    [
      'a summary that is not to be generated',
      { model: 'm', generate: false, input: [{ type: 'compaction_trigger' }] },
      'invalid_value',
      'generate',
    ],
    ['a lane over HTTP', { model: 'm', stream_id: 'main' }, 'unsupported_parameter', 'stream_id'],
  ])('refuses %s', (_, fields, code, param) => {
    expect(errorOf(fields).body).toMatchObject({ type: 'invalid_request_error', code, param });
  });
});

describe('background', () => {
  it('is for HTTP, and for what is stored', () => {
    expect(parse({ background: true }).background).toBe(true);
    expect(errorOf({ model: 'm', background: true, store: false }).message).toBe(
      "Invalid value for 'background': it needs 'store', which is false.",
    );
    expect(errorOf({ model: 'm', background: true }, 'websocket').body).toEqual({
      type: 'invalid_request_error',
      code: 'unsupported_parameter',
      message: "'background' belongs to HTTP requests only.",
      param: 'background',
    });
  });
});

describe('include', () => {
  it('may name everything that OpenAI knows', () => {
    const include = [
      'file_search_call.results',
      'web_search_call.results',
      'web_search_call.action.sources',
      'message.input_image.image_url',
      'computer_call_output.output.image_url',
      'code_interpreter_call.outputs',
      'reasoning.encrypted_content',
      'message.output_text.logprobs',
    ];
    expect(parse({ include }).include).toEqual(include);
  });
});

describe('messages', () => {
  it('name the type that is wanted as JSON does', () => {
    const format = { type: 'json_schema', name: 'a', schema: [] };
    expect(errorOf({ model: 'm', text: { format } }).message).toBe(
      "Invalid type for 'text.format.schema': expected object, got array.",
    );
  });
});

describe('stream_id', () => {
  it.each(['a', 'main', 'A-z_0.9', 'x'.repeat(256)])('may be %j', (id) => {
    expect(parseStreamId(id)).toBe(id);
    expect(parse({ stream_id: id }, 'websocket').streamId).toBe(id);
  });

  it('is the default lane when absent', () => {
    expect(parseStreamId(undefined)).toBeUndefined();
    expect(parse({}, 'websocket').streamId).toBeUndefined();
    expect(parse({ stream_id: null }, 'websocket').streamId).toBeUndefined();
    expect(parse({ stream_id: null }, 'http').streamId).toBeUndefined();
  });

  it.each(['', 'a b', 'x'.repeat(257), 'ä', 'a\n', 5, {}])('may not be %j', (id) => {
    expect(errorOf({ model: 'm', stream_id: id }, 'websocket').body).toMatchObject({
      code: 'invalid_stream_id',
      param: 'stream_id',
    });
  });
});

describe('parsing in slices', () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ role: 'user', content: `${index}` }));

  it('lets others have their turn between the slices of a long input', async () => {
    const order: string[] = [];
    const parsed = parseRequestInSlices({ model: 'm', input: many(5_000) }, 'http');
    setImmediate(() => order.push('another'));
    const request = await parsed;
    order.push('parsed');
    expect(order).toEqual(['another', 'parsed']);
    expect(request).toEqual(parseRequest({ model: 'm', input: many(5_000) }, 'http'));
  });

  it('names the item at fault in any slice', async () => {
    const input = [...many(1_234), { type: 'nonsense' }];
    await expect(parseRequestInSlices({ model: 'm', input }, 'http')).rejects.toMatchObject({
      param: 'input[1234].type',
    });
  });
});
