import { describe, expect, it } from '@jest/globals';
import { parseRequest } from './parse/request.js';
import { echoOf, newResponse } from './response.js';

const TOOL = { type: 'function', name: 'shell', parameters: { type: 'object', properties: {} } };

function responseTo(fields: Record<string, unknown>) {
  const request = parseRequest({ model: 'm', ...fields }, 'http');
  return { response: newResponse('resp_1', request, 1_764_000_000), request };
}

const ECHO_BYTES = 256 * 1024;

describe('newResponse', () => {
  it('has every key that client schemas ask for, with the defaults of the request', () => {
    const { response } = responseTo({ input: 'hi' });
    expect(JSON.parse(JSON.stringify(response))).toEqual({
      id: 'resp_1',
      object: 'response',
      created_at: 1_764_000_000,
      completed_at: null,
      conversation: null,
      status: 'in_progress',
      background: false,
      error: null,
      incomplete_details: null,
      instructions: null,
      max_output_tokens: null,
      max_tool_calls: null,
      metadata: {},
      model: 'm',
      output: [],
      parallel_tool_calls: true,
      previous_response_id: null,
      prompt_cache_key: null,
      reasoning: { effort: null, summary: null },
      safety_identifier: null,
      service_tier: 'default',
      store: true,
      temperature: 1,
      text: { format: { type: 'text' }, verbosity: 'medium' },
      tool_choice: 'auto',
      tools: [],
      top_logprobs: 0,
      top_p: 1,
      truncation: 'disabled',
      usage: null,
      user: null,
      presence_penalty: 0,
      frequency_penalty: 0,
      access_programs: null,
    });
  });

  it('echoes what the request set', () => {
    const { response } = responseTo({
      instructions: 'Be brief.',
      max_output_tokens: 50,
      max_tool_calls: 3,
      metadata: { team: 'a' },
      parallel_tool_calls: false,
      previous_response_id: 'resp_0',
      prompt_cache_key: 'k',
      reasoning: { effort: 'low', summary: 'auto' },
      safety_identifier: 's',
      service_tier: 'flex',
      store: false,
      temperature: 0.5,
      text: { format: { type: 'json_object' }, verbosity: 'low' },
      tool_choice: { type: 'function', name: 'shell' },
      tools: [TOOL],
      top_logprobs: 2,
      top_p: 0.9,
      truncation: 'auto',
      user: 'u',
    });
    expect(response).toMatchObject({
      instructions: 'Be brief.',
      max_output_tokens: 50,
      max_tool_calls: 3,
      metadata: { team: 'a' },
      parallel_tool_calls: false,
      previous_response_id: 'resp_0',
      prompt_cache_key: 'k',
      reasoning: { effort: 'low', summary: 'auto' },
      safety_identifier: 's',
      service_tier: 'flex',
      store: false,
      temperature: 0.5,
      text: { format: { type: 'json_object' }, verbosity: 'low' },
      tool_choice: { type: 'function', name: 'shell' },
      tools: [TOOL],
      top_logprobs: 2,
      top_p: 0.9,
      truncation: 'auto',
      user: 'u',
    });
  });

  it('shows what a tool or a format left open, since client schemas ask for every key', () => {
    const hosted = { type: 'web_search', search_context_size: 'low' };
    const format = { type: 'json_schema', name: 'a', schema: {} };
    const { response } = responseTo({
      tools: [
        { type: 'function', name: 'f' },
        { ...TOOL, strict: true },
        { type: 'custom', name: 'c' },
        hosted,
      ],
      text: { format },
    });
    expect(JSON.parse(JSON.stringify(response))).toMatchObject({
      tools: [
        { type: 'function', name: 'f', description: null, parameters: null, strict: null },
        { ...TOOL, description: null, strict: true },
        { type: 'custom', name: 'c' },
        hosted,
      ],
      text: { format: { ...format, description: null, strict: false } },
    });
  });
});

describe('echoOf', () => {
  it('repeats tools and instructions of usual size', () => {
    const { response, request } = responseTo({ instructions: 'Be brief.', tools: [TOOL] });
    expect(echoOf(response, request.toolsKey, ECHO_BYTES)).toBe(response);
    const long = responseTo({ instructions: 'i'.repeat(ECHO_BYTES - 200), tools: [TOOL] });
    expect(echoOf(long.response, long.request.toolsKey, ECHO_BYTES)).toBe(long.response);
  });

  it.each([
    ['tools', { tools: [{ ...TOOL, description: 'd'.repeat(ECHO_BYTES) }] }],
    ['instructions', { instructions: 'i'.repeat(ECHO_BYTES), tools: [TOOL] }],
    ['instructions of long characters', { instructions: '語'.repeat(ECHO_BYTES / 3), tools: [TOOL] }],
    ['instructions of escapes', { instructions: '\u0001'.repeat(ECHO_BYTES / 6), tools: [TOOL] }],
  ])('leaves out both when %s are long, and changes nothing else', (_, fields) => {
    const { response, request } = responseTo(fields);
    const before = JSON.stringify(response);
    expect(echoOf(response, request.toolsKey, ECHO_BYTES)).toEqual({
      ...response,
      tools: [],
      instructions: null,
    });
    expect(JSON.stringify(response)).toBe(before);
  });
});
