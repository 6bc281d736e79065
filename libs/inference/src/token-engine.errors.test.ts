import { afterEach, describe, expect, it } from '@jest/globals';
import { o200kHarmony } from '@turnpike/formats';
import type { ApiError } from '@turnpike/protocol';
import { begin, sse, tokens } from '../testing/fake-engine.js';
import { REQUEST, answering, cleanUp, clientFor, codeOf, drain, idsOf, setUp } from '../testing/harness.js';

afterEach(cleanUp);

describe('failures of the engine', () => {
  it.each<[string, number, string, string]>([
    [
      'vLLM, prompt too long',
      400,
      '{"error":{"message":"This model\'s maximum context length is 10 tokens."}}',
      'context_length_exceeded',
    ],
    [
      'vLLM, prompt too long',
      400,
      '{"message":"The decoder prompt (length 9) is longer than the maximum model length of 5."}',
      'context_length_exceeded',
    ],
    [
      'llama-server, prompt too long',
      400,
      '{"error":{"message":"the request exceeds the available context size"}}',
      'context_length_exceeded',
    ],
    [
      'SGLang, prompt too long',
      400,
      '{"message":"The input is longer than the model\'s context length"}',
      'context_length_exceeded',
    ],
    ['a bad request', 400, '{"error":{"message":"bad"}}', 'engine_error'],
    ['a wrong address', 404, 'Not Found', 'engine_error'],
    ['too many requests', 429, '', 'server_is_overloaded'],
    ['a crash', 500, 'Traceback: secret', 'engine_error'],
    ['a gateway without an engine', 502, '<html>', 'engine_error'],
    ['an engine that is full', 503, '{}', 'server_is_overloaded'],
    ['a page instead of a stream', 200, '<html>', 'engine_error'],
    ['an error with status 200', 200, '{"object":"error","message":"…","code":400}', 'engine_error'],
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
