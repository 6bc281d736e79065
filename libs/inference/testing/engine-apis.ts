import type { Tokenizer } from '@turnpike/formats';
import { sse } from './fake-engine.js';
import type { Call, EngineApi } from './played-engine.js';

/** vLLM with `--enable-scale-out`: `/inference/v1/generate`. */
export function vllmGenerateApi(options: { keepsFinish?: boolean } = {}): EngineApi {
  return {
    path: '/inference/v1/generate',
    promptField: 'token_ids',
    abortPath: '/inference/v1/abort_requests',
    owner: 'vllm',
    // A route that is there for POST alone.
    pages: { '/inference/v1/generate': 405 },
    *stream({ played, prompt, cached }) {
      const { ids, finish = 'stop', hangs } = played;
      for (const id of ids) yield sse({ choices: [{ index: 0, finish_reason: null, token_ids: [id] }] });
      if (hangs === true || finish === null) return;
      // A chunk without ids is skipped by some versions, and with it the reason.
      if (options.keepsFinish !== false) {
        yield sse({ choices: [{ index: 0, finish_reason: finish, token_ids: [] }] });
      }
      const details = { prompt_tokens_details: { cached_tokens: cached } };
      const usage = { prompt_tokens: prompt.length, completion_tokens: ids.length, ...details };
      yield sse({ choices: [], usage }, '[DONE]');
    },
  };
}

/** vLLM's `/v1/completions`: the first event repeats the prompt, and `max_tokens` would be 16. */
export function vllmApi(): EngineApi {
  return {
    path: '/v1/completions',
    promptField: 'prompt',
    owner: 'vllm',
    refuse: ({ max_tokens: most, return_token_ids: says }) =>
      most === undefined || says !== true ? { message: 'max_tokens would be 16' } : undefined,
    *stream({ played, prompt, cached }) {
      const { ids, finish = 'stop', hangs } = played;
      for (const [index, id] of ids.entries()) {
        const isLast = index === ids.length - 1 && hangs !== true && finish !== null;
        const echo = index === 0 ? { prompt_token_ids: prompt } : {};
        const end = { finish_reason: isLast ? finish : null, stop_reason: isLast ? id : null };
        yield sse({ choices: [{ index: 0, text: 'x', ...end, ...echo, token_ids: [id] }] });
      }
      if (hangs === true || finish === null) return;
      const details = { prompt_tokens_details: { cached_tokens: cached } };
      const usage = { prompt_tokens: prompt.length, completion_tokens: ids.length, ...details };
      yield sse({ choices: [], usage }, '[DONE]');
    },
  };
}

/** SGLang: ids are all those so far, or with `--incremental-streaming-output` those that are new. */
export function sglangApi(options: { incremental?: boolean; chunk?: number } = {}): EngineApi {
  const { incremental = false, chunk = 2 } = options;
  return {
    path: '/generate',
    promptField: 'input_ids',
    abortPath: '/abort_request',
    owner: 'sglang',
    refuse: ({ sampling_params: sampling }) =>
      (sampling as { max_new_tokens?: number }).max_new_tokens === undefined
        ? { message: 'max_new_tokens would be 128' }
        : undefined,
    *stream({ played, prompt, cached }) {
      const { ids, finish = 'stop', hangs } = played;
      for (let from = 0; from < ids.length; from += chunk) {
        const to = Math.min(from + chunk, ids.length);
        const isLast = to === ids.length && hangs !== true && finish !== null;
        const reason = finish === 'stop' ? { type: 'stop', matched: ids.at(-1) } : { type: finish };
        yield sse({
          text: 'x',
          output_ids: ids.slice(incremental ? from : 0, to),
          meta_info: {
            id: 'r',
            finish_reason: isLast ? reason : null,
            prompt_tokens: prompt.length,
            completion_tokens: to,
            cached_tokens: cached,
          },
        });
      }
      if (hangs !== true && finish !== null) yield sse('[DONE]');
    },
  };
}

/**
 * llama-server: an id that leaves the text inside of a character is never sent, progress comes with an id that is none, and
 * there is no [DONE].
 * @param stopIds what its model file names
 */
export function llamaServerApi(tokenizer: Tokenizer, stopIds: readonly number[]): EngineApi {
  return {
    path: '/completion',
    promptField: 'prompt',
    owner: 'llamacpp',
    *stream(call) {
      const { ids, finish = 'stop', hangs } = call.played;
      const { prompt, cached } = call;
      yield sse({
        content: '',
        tokens: [0],
        stop: false,
        prompt_progress: { total: prompt.length, processed: 1 },
      });
      let pending: Buffer = Buffer.alloc(0);
      for (const [index, id] of ids.entries()) {
        const isStop = stopIds.includes(id);
        pending = Buffer.concat([pending, isStop ? Buffer.alloc(0) : tokenizer.bytes(id)]);
        const content = pending.toString();
        if (content.endsWith('\ufffd')) continue;
        pending = Buffer.alloc(0);
        const tokens_predicted = index + 1;
        yield sse({
          index: 0,
          content,
          tokens: [id],
          stop: false,
          id_slot: 0,
          tokens_predicted,
          tokens_evaluated: prompt.length,
        });
      }
      if (hangs === true || finish === null) return;
      yield sse({
        index: 0,
        content: '',
        tokens: [],
        stop: true,
        stop_type: { stop: 'eos', length: 'limit', abort: 'none' }[finish],
        tokens_predicted: ids.length,
        tokens_evaluated: prompt.length,
        // What is in the slot now, which is not what was found there.
        tokens_cached: prompt.length + ids.length,
        timings: { cache_n: cached, prompt_n: prompt.length - cached },
      });
    },
  };
}

/** Fields that trtllm-serve knows; any other is a 400. */
const TENSORRT_FIELDS = new Set([
  'model',
  'prompt',
  'detokenize',
  'stream',
  'stream_options',
  'max_tokens',
  'stop_token_ids',
  'temperature',
  'top_p',
  'response_format',
]);

/** trtllm-serve: ids come only where no text is made of them. */
export function tensorrtLlmApi(): EngineApi {
  return {
    path: '/v1/completions',
    promptField: 'prompt',
    owner: 'tensorrt_llm',
    refuse: (body) => {
      const unknown = Object.keys(body).filter((field) => !TENSORRT_FIELDS.has(field));
      return unknown.length === 0
        ? undefined
        : { detail: unknown.map((field) => `extra_forbidden: ${field}`) };
    },
    *stream({ body, played, prompt, cached }: Call) {
      const { ids, finish = 'stop', hangs } = played;
      for (const [index, id] of ids.entries()) {
        const isLast = index === ids.length - 1 && hangs !== true && finish !== null;
        const said =
          body['detokenize'] === false ? { text: '', token_ids: [id] } : { text: 'x', token_ids: null };
        yield sse({
          choices: [{ index: 0, ...said, finish_reason: isLast ? finish : null, stop_reason: null }],
        });
      }
      if (hangs === true || finish === null) return;
      const details = { prompt_tokens_details: { cached_tokens: cached } };
      const usage = { prompt_tokens: prompt.length, completion_tokens: ids.length, ...details };
      yield sse({ choices: [], usage }, '[DONE]');
    },
  };
}
