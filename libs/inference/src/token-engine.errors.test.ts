import { afterEach, describe, expect, it } from '@jest/globals';
import { o200kHarmony } from '@turnpike/formats';
import type { ApiError } from '@turnpike/protocol';
import { begin, sse, tokens } from '../testing/fake-engine.js';
import { REQUEST, answering, cleanUp, clientFor, codeOf, drain, idsOf, setUp } from '../testing/harness.js';

afterEach(cleanUp);

describe('failures of the engine', () => {
  it.each<[string, number, string, string]>([
    ['a bad request', 400, '{"error":{"message":"bad"}}', 'engine_refused'],
    [
      'FastAPI, a field that it does not know',
      422,
      '{"detail":[{"type":"extra_forbidden"}]}',
      'engine_refused',
    ],
    [
      'llama-server, foreign ids',
      400,
      '{"error":{"message":"Prompt contains invalid tokens"}}',
      'engine_refused',
    ],
    ['llama-server, loading', 503, '{"error":{"type":"unavailable_error"}}', 'server_is_overloaded'],
    ['no key', 401, '{}', 'engine_error'],
    ['a wrong address', 404, 'Not Found', 'engine_error'],
    [
      'a model that vLLM does not have',
      404,
      '{"error":{"message":"The model `m` does not exist."}}',
      'engine_lacks_model',
    ],
    ['one that Ollama does not have', 404, '{"error":"model \'m\' not found"}', 'engine_lacks_model'],
    [
      'one that a hosted service does not have',
      200,
      '{"error":{"code":"model_not_found","message":"model"}}',
      'engine_lacks_model',
    ],
    ['too many requests', 429, '', 'server_is_overloaded'],
    ['a crash', 500, 'Traceback: secret', 'engine_error'],
    ['a gateway without an engine', 502, '<html>', 'engine_error'],
    ['an engine that is full', 503, '{}', 'server_is_overloaded'],
    ['one behind somebody who says it otherwise', 529, '{}', 'server_is_overloaded'],
    [
      'a limit of another kind',
      400,
      '{"error":{"message":"max_tokens must be at most 4096"}}',
      'engine_refused',
    ],
    ['a page instead of a stream', 200, '<html>', 'engine_error'],
    ['an error with status 200', 200, '{"object":"error","message":"…","code":400}', 'engine_refused'],
    [
      'an overload with status 200',
      200,
      '{"error":{"message":"Worker local total request limit reached (33/32)","code":503}}',
      'server_is_overloaded',
    ],
  ])('D10: %s (status %i)', async (_, status, body, code) => {
    const { client } = await setUp(({ response }) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    });
    const { chunks, error } = await drain(client);
    expect([chunks, codeOf(error)]).toEqual([[], code]);
    expect((error as ApiError).message).not.toMatch(/secret|127\.0\.0\.1|status/);
    expect((error as ApiError).retryAfter).toBe(code === 'server_is_overloaded' ? 1 : undefined);
  });

  it.each([
    [400, '{"error":{"message":"Token id 200006 is out of vocabulary"}}', /format or tokenizer/],
    [400, '{"error":{"message":"Prompt contains invalid tokens"}}', /format or tokenizer/],
    [
      400,
      '{"error":{"message":"The input_ids contains values greater than the vocab size (9)"}}',
      /tokenizer/,
    ],
    [400, '{"error":{"message":"no"}}', /status 400$/],
    [401, '{}', /status 401: .*apiKeyEnv/],
    [404, '{"error":{"message":"The model `m` does not exist."}}', /status 404: .*engineModel/],
  ])('tells who runs it what to change: %i %s', async (status, body, why) => {
    const { client } = await setUp(({ response }) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    });
    const { error } = await drain(client);
    expect((error as { cause: Error }).cause.message).toMatch(why);
  });

  it.each([
    "This model's maximum context length is 10 tokens. However, you requested 12 tokens.",
    'The decoder prompt (length 9) is longer than the maximum model length of 5.',
    "The input (9 tokens) is longer than the model's context length (5 tokens).",
    "Requested token count exceeds the model's maximum context length of 5 tokens.",
    'the request exceeds the available context size, try increasing it',
    'exceed_context_size_error',
    'The sum of prompt length (9.0), query length (0) should not exceed max_num_tokens (5)',
    'Prompt length (9) exceeds maximum input length (5).',
    'default_max_tokens (-4) should be greater than 0, max_seq_len (5) - prompt length (9)',
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 5. Given: 9 `inputs` tokens',
    'Input validation error: `inputs` must have less than 5 tokens. Given: 9',
    'input length exceeds the context length',
    'Trying to keep the first 9 tokens when context the overflows. However, the model is loaded with context length of only 5 tokens',
    'prompt is too long: 9 tokens > 5 maximum',
    "This model's maximum prompt length is 5 but the request contains 9 tokens.",
    'The input token count (9) exceeds the maximum number of tokens allowed (5).',
    'Please reduce the length of the messages or completion.',
    'Prompt contains 9 tokens, too large for model with 5 maximum context length',
    'Input is too long for requested model.',
    'input length and `max_tokens` exceed context limit: 9 + 2 > 5, decrease input length',
    'Input length 9 exceeds the maximum allowed input length of 5 tokens.',
    'the maximum supported sequence length is just 5!',
    'max_tokens must be at least 1, got -4.',
    'Your request exceeded model token limit: 5 (requested: 9)',
    'Range of input length should be [1, 5]',
    'Prompt exceeds max length',
    'Prompt 超长',
    'prompt token count of 9 exceeds the limit of 5',
    'Prompt too long: 9 tokens exceeds max_seq_len 5',
  ])('a prompt that does not fit, in the words of engines: %s', async (message) => {
    for (const status of [400, 422]) {
      const { client } = await setUp(({ response }) => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ message }));
      });
      expect(codeOf((await drain(client)).error)).toBe('context_length_exceeded');
    }
    const inside = await answering(sse({ error: { message, code: 400 } }));
    expect(codeOf((await drain(inside.client)).error)).toBe('context_length_exceeded');
  });

  it.each([
    ['7', 7],
    ['0.2', 1],
    ['99999', 300],
    ['Wed, 21 Oct 2026 07:28:00 GMT', 1],
  ])('an overload that names %s is passed on as %i seconds', async (header, seconds) => {
    const { client } = await setUp(({ response }) => {
      response.writeHead(429, { 'retry-after': header }).end();
    });
    const { error } = await drain(client);
    expect(error).toMatchObject({ code: 'server_is_overloaded', retryAfter: seconds });
    expect((error as ApiError).message).toContain(`try again in ${seconds}s`);
  });

  it.each([
    [{ error: { message: 'TimeoutError', type: 'GatewayTimeout', code: 504 } }, 'engine_error'],
    [
      { choices: [], error: { code: 502, message: 'Worker local total request limit reached (33/32)' } },
      'engine_error',
    ],
    [{ error: { code: '429', message: 'slow down' } }, 'server_is_overloaded'],
    [{ error: 'something' }, 'engine_error'],
    [
      { object: 'error', message: 'exceeds the available context size', code: 400 },
      'context_length_exceeded',
    ],
    ['not json', 'engine_error'],
    ['null', 'engine_error'],
    ['{"choices":[{"token_ids":5}]}', 'engine_error'],
    [{ choices: [{ index: 0, text: 'words without ids', finish_reason: null }] }, 'engine_error'],
    [tokens([3, -1]), 'engine_error'],
    [tokens([1.5]), 'engine_error'],
    ['{"choices":[{"token_ids":[null]}]}', 'engine_error'],
    ['{"choices":[{"token_ids":["7"]}]}', 'engine_error'],
    [tokens([201_088]), 'engine_error'],
  ])('D10: inside the stream: %j, after what was sampled before it', async (event, code) => {
    const { client } = await answering(sse(tokens([1, 2]), event, tokens([3], 'stop'), '[DONE]'));
    const { chunks, error } = await drain(client, { ...REQUEST, tokenizer: o200kHarmony() });
    expect([idsOf(chunks), codeOf(error)]).toEqual([[1, 2], code]);
    expect((error as ApiError).message).not.toMatch(/words|not json|limit|Timeout/);
  });

  it.each([
    ['in the same read', [sse(tokens([1], 'stop'), { error: { message: 'late', code: 500 } })]],
    ['in a later one', [sse(tokens([1], 'stop')), sse({ error: { message: 'late', code: 500 } })]],
  ])('an error behind the finish changes nothing, %s', async (_, writes) => {
    const { client } = await answering(...writes);
    const { chunks, error } = await drain(client);
    expect([idsOf(chunks), chunks[0]?.finish, error]).toEqual([[1], 'stop', undefined]);
  });

  it.each([
    ['without a word', ''],
    ['after some tokens', sse(tokens([1]))],
    ['with [DONE] and no reason', sse(tokens([1]), '[DONE]')],
    ['inside an event', sse(tokens([1])) + 'data: {"choices":[{"finish_reason":"stop"'],
  ])('D09: a stream that ends %s is an error', async (_, text) => {
    const { client } = await answering(text);
    const { error } = await drain(client);
    expect(codeOf(error)).toBe('engine_error');
    expect((error as ApiError).message).toBe('The inference engine ended its answer without finishing it.');
  });

  it('a connection that breaks is an error, and keeps what came', async () => {
    const { client } = await setUp(({ response }) => {
      begin(response);
      response.write(sse(tokens([1])), () => response.destroy());
    });
    const { chunks, error } = await drain(client);
    expect([idsOf(chunks), codeOf(error)]).toEqual([[1], 'engine_error']);
  });

  it('a connection that breaks inside an error answer is an error as well', async () => {
    const { client } = await setUp(({ response }) => {
      response.writeHead(500, { 'content-length': 100 });
      response.write('half', () => response.destroy());
    });
    expect(codeOf((await drain(client)).error)).toBe('engine_error');
  });

  it('an engine that is not there is unavailable', async () => {
    const { engine } = await answering();
    const { url } = engine;
    await engine.stop();
    const { error } = await drain(clientFor(url));
    expect(codeOf(error)).toBe('engine_unavailable');
    expect((error as ApiError).message).not.toContain('127.0.0.1');
  });
});
