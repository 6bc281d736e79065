import { afterEach, describe, expect, it } from '@jest/globals';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { HARMONY, o200kHarmony } from '@turnpike/formats';
import type { ApiError } from '@turnpike/protocol';
import {
  llamaServerApi,
  sglangApi,
  tensorrtLlmApi,
  vllmApi,
  vllmGenerateApi,
} from '../testing/engine-apis.js';
import { begin, sse } from '../testing/fake-engine.js';
import { cleanUp, clientFor, codeOf, drain, idsOf, REQUEST, setUp } from '../testing/harness.js';
import type { Call, EngineApi, Played } from '../testing/played-engine.js';
import type { EngineKind } from './index.js';

afterEach(cleanUp);

const tokenizer = o200kHarmony();
const STOP = HARMONY.call;
const TEXT = [...tokenizer.encode('Bonjour, 세상 🫠'), STOP];
const ASKED = { ...REQUEST, tokenizer };

/** Each dialect, with a fake of the server that speaks it. */
const DIALECTS: readonly (readonly [string, EngineKind, EngineApi])[] = [
  ['vLLM /inference/v1/generate', 'vllm', vllmGenerateApi()],
  ['vLLM /v1/completions', 'vllm', vllmApi()],
  ['SGLang, cumulative', 'sglang', sglangApi()],
  ['SGLang, incremental', 'sglang', sglangApi({ incremental: true })],
  ['llama-server', 'llama-server', llamaServerApi(tokenizer, [STOP])],
  ['TensorRT-LLM', 'tensorrt-llm', tensorrtLlmApi()],
];

/** What the server writes for an output. */
function written(api: EngineApi, played: Played, body: Call['body'] = {}): string {
  const call = { body: { detokenize: false, ...body }, prompt: [1, 20, 300, 4, 5], played, cached: 0 };
  return [...api.stream(call)].join('');
}

/** A client of a server that writes these pieces, each by itself. */
async function answeringWith(kind: EngineKind, api: EngineApi, pieces: readonly (string | Buffer)[]) {
  const { engine } = await setUp(async ({ response }) => {
    begin(response);
    for (const piece of pieces) {
      response.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  });
  for (const [path, page] of Object.entries(api.pages ?? {})) engine.pages.set(path, page);
  return clientFor(engine.url, { kind });
}

const PROMPT_TOO_LONG = 'the request exceeds the available context size';

describe.each(DIALECTS)('%s', (_, kind, api) => {
  const begun = written(api, { ids: TEXT.slice(0, 4), finish: null });

  it.each<[string, unknown, string]>([
    ['an error', { error: { message: 'secret', type: 'InternalServerError', code: 500 } }, 'engine_error'],
    ['an error that is a text', { error: 'secret' }, 'engine_error'],
    ['an overload', { error: { message: 'secret', code: 503 } }, 'server_is_overloaded'],
    ['an overflow', { error: { message: PROMPT_TOO_LONG, code: 400 } }, 'context_length_exceeded'],
    [
      'an error of another shape',
      { object: 'error', message: PROMPT_TOO_LONG, code: 400 },
      'context_length_exceeded',
    ],
    ['what is no JSON', '{"choices":[{"token', 'engine_error'],
    ['what is no object', '[]7', 'engine_error'],
  ])('D10: %s in its stream ends it, behind what came', async (__, event, code) => {
    for (const pieces of [[begun + sse(event)], [begun, sse(event)]]) {
      const { chunks, error } = await drain(await answeringWith(kind, api, pieces), ASKED);
      expect([idsOf(chunks), codeOf(error)]).toEqual([TEXT.slice(0, 4), code]);
      expect((error as ApiError).message).not.toMatch(/secret|available/);
    }
  });

  it('D10: an error in a 200 that is no stream', async () => {
    for (const [body, code] of [
      [{ object: 'error', message: PROMPT_TOO_LONG, code: 400 }, 'context_length_exceeded'],
      [{ error: { message: 'busy', code: 429 } }, 'server_is_overloaded'],
      [{ error: { type: 'overloaded_error', message: 'busy', code: null } }, 'server_is_overloaded'],
      [{ detail: 'what is that' }, 'engine_error'],
    ] as const) {
      for (const type of ['application/json', 'text/event-stream']) {
        const { engine } = await setUp(({ response }) => {
          response.writeHead(200, { 'content-type': type }).end(JSON.stringify(body));
        });
        for (const [path, page] of Object.entries(api.pages ?? {})) engine.pages.set(path, page);
        expect(codeOf((await drain(clientFor(engine.url, { kind }), ASKED)).error)).toBe(code);
      }
    }
  });

  it('D09: half an event and then the end, or a reset, is an error behind what came', async () => {
    const half = written(api, { ids: TEXT, finish: 'stop' }).slice(begun.length, -20);
    const { chunks, error } = await drain(await answeringWith(kind, api, [begun, half.slice(0, 30)]), ASKED);
    expect([idsOf(chunks), codeOf(error)]).toEqual([TEXT.slice(0, 4), 'engine_error']);
    const { engine } = await setUp(({ response }) => {
      begin(response);
      response.write(begun + half.slice(0, 30), () => setImmediate(() => response.socket?.resetAndDestroy()));
    });
    for (const [path, page] of Object.entries(api.pages ?? {})) engine.pages.set(path, page);
    expect(codeOf((await drain(clientFor(engine.url, { kind }), ASKED)).error)).toBe('engine_error');
  });

  it('D03: its stream byte by byte, with CRLF, comments and other fields, says the same', async () => {
    const text = written(api, { ids: TEXT });
    const noisy = `\ufeff: ping\n\nevent: message\nid: 7\nretry: 5\n${text}`.replaceAll('\n', '\r\n');
    const bytes = [...Buffer.from(noisy)].map((byte) => Buffer.of(byte));
    const { chunks, error } = await drain(await answeringWith(kind, api, bytes), ASKED);
    expect(error).toBeUndefined();
    expect(idsOf(chunks)).toEqual(TEXT);
    expect(chunks.findLast(({ finish }) => finish)?.finish).toBe('stop');
    expect(chunks.findLast(({ usage }) => usage)?.usage?.completionTokens).toBe(TEXT.length);
  });
});

describe.each(DIALECTS)('D03: %s', (_, kind, api) => {
  const text = written(api, { ids: TEXT });

  it.each<[string, string | undefined, string]>([
    ['says that its stream is text', 'text/plain; charset=utf-8', text],
    ['says that its stream is JSON', 'application/json', text],
    ['does not say what it is', undefined, text],
    ['leaves out the last line', 'text/event-stream', text.trimEnd()],
    ['leaves out all empty lines', 'text/event-stream', text.replaceAll('\n\n', '\n')],
    ['says everything twice', 'text/event-stream', text + text],
  ])('%s', async (__, type, body) => {
    const { engine } = await setUp(({ response }) => {
      response.writeHead(200, type === undefined ? {} : { 'content-type': type }).end(body);
    });
    for (const [path, page] of Object.entries(api.pages ?? {})) engine.pages.set(path, page);
    const { chunks, error } = await drain(clientFor(engine.url, { kind }), ASKED);
    expect([idsOf(chunks), chunks.findLast(({ finish }) => finish)?.finish, error]).toEqual([
      TEXT,
      'stop',
      undefined,
    ]);
  });
});

it.each<[string, (text: string) => Buffer]>([
  ['gzip', (text) => gzipSync(text)],
  ['deflate', (text) => deflateSync(text)],
  ['br', (text) => brotliCompressSync(text)],
])(
  'an answer that somebody packed by %s is read, and one that breaks off is an error',
  async (encoding, pack) => {
    const bytes = pack(written(vllmApi(), { ids: TEXT }));
    for (const whole of [true, false]) {
      const { client } = await setUp(({ response }) => {
        response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': encoding });
        if (whole) response.end(bytes);
        else
          response.write(bytes.subarray(0, bytes.length / 2), () => setImmediate(() => response.destroy()));
      });
      const { chunks, error } = await drain(client, ASKED);
      if (whole) expect([idsOf(chunks), error]).toEqual([TEXT, undefined]);
      else expect(codeOf(error)).toBe('engine_error');
    }
  },
);

it.each(DIALECTS)(
  '%s: an engine that goes on behind the limit is cut there, and told',
  async (_, kind, api) => {
    const ids = Array.from({ length: 60 }, () => 7);
    const { engine } = await setUp(({ response }) => {
      begin(response);
      response.write(written(api, { ids, finish: null }));
    });
    for (const [path, page] of Object.entries(api.pages ?? {})) engine.pages.set(path, page);
    const { chunks, error } = await drain(clientFor(engine.url, { kind }), ASKED);
    expect([idsOf(chunks).length, chunks.at(-1)?.finish, error]).toEqual([
      ASKED.maxTokens,
      'length',
      undefined,
    ]);
    await engine.requests[0]?.aborted;
  },
);

describe('SGLang', () => {
  const event = (reason: object, ids: number[] = []) =>
    sse({
      output_ids: ids,
      meta_info: { finish_reason: reason, prompt_tokens: 5, completion_tokens: ids.length },
    });

  it.each([
    [{ type: 'abort', message: 'The request queue is full.', status_code: 503 }, 'server_is_overloaded'],
    [
      { type: 'abort', message: "The input is longer than the model's context length", status_code: 400 },
      'context_length_exceeded',
    ],
    [{ type: 'abort', message: 'Invalid grammar', status_code: 400 }, 'engine_refused'],
    [{ type: 'abort', message: 'cuda error', status_code: 500 }, 'engine_error'],
  ])('that aborts says what for: %j', async (reason, code) => {
    const client = await answeringWith('sglang', sglangApi(), [event(reason)]);
    expect(codeOf((await drain(client, ASKED)).error)).toBe(code);
  });

  it('that leaves ids out counts them, and goes on with those that it says', async () => {
    const say = (ids: number[], completion_tokens: number, type?: string) =>
      sse({ output_ids: ids, meta_info: { finish_reason: type ? { type } : null, completion_tokens } });
    const client = await answeringWith('sglang', sglangApi(), [
      say([7], 1) + say([8, 9], 3) + say([11], 5) + say([12], 6, 'length'),
    ]);
    const { chunks } = await drain(client, ASKED);
    expect(idsOf(chunks)).toEqual([7, 8, 9, 11, 12]);
    expect(chunks.reduce((sum, { lost = 0 }) => sum + lost, 0)).toBe(1);
  });

  it('that trims the id it stopped at says no id twice', async () => {
    const say = (ids: number[], completion_tokens: number, type?: string) =>
      sse({ output_ids: ids, meta_info: { finish_reason: type ? { type } : null, completion_tokens } });
    const client = await answeringWith('sglang', sglangApi(), [
      say([7], 1),
      say([7, 8], 2),
      say([7, 8], 3, 'stop'),
    ]);
    const { chunks } = await drain(client, ASKED);
    expect([idsOf(chunks), chunks.at(-1)?.finish]).toEqual([[7, 8], 'stop']);
  });
});

describe('vLLM', () => {
  it('that does not stream here gives one object', async () => {
    const { engine } = await setUp(({ response }) => {
      const choice = { index: 0, finish_reason: 'stop', token_ids: TEXT };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ request_id: 'r', choices: [choice] }));
    });
    engine.pages.set('/inference/v1/generate', 405);
    const { chunks, error } = await drain(clientFor(engine.url), ASKED);
    expect([idsOf(chunks), chunks.at(-1)?.finish, error]).toEqual([TEXT, 'stop', undefined]);
    expect(JSON.parse(engine.requests[0]?.body ?? '')).toMatchObject({
      sampling_params: { max_tokens: REQUEST.maxTokens },
      output_mode: 'tokens',
    });
  });
});
