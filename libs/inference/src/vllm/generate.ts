import type { FinishReason } from '@turnpike/formats';
import type { Dialect, EventReader } from '../dialect.js';
import type { EngineChunk, GenerateRequest } from '../engine-client.js';
import type { Fields } from '../read-values.js';
import { completionChunk } from './completion-chunk.js';
import { vllmCompletions } from './completions.js';

/** What the server puts in front of the id that a request named, in its own list of requests. */
const REQUEST_PREFIX = 'generate-tokens-';

/**
 * vLLM's `/inference/v1/generate`, which servers have with `--enable-scale-out` or `--tokens-only`. Prompts are not echoed,
 * and a request can be ended by another. Source: vllm/entrypoints/serve/disagg/protocol.py.
 */
export const vllmGenerate: Dialect = {
  capabilities: { ...vllmCompletions.capabilities, api: 'vllm /inference/v1/generate', abort: true },
  path: '/inference/v1/generate',
  promptField: 'token_ids',
  settings: (request, id) => ({
    request_id: id,
    model: request.model,
    cache_salt: request.cacheSalt,
    stream: true,
    stream_options: { include_usage: true },
    output_mode: 'tokens',
    sampling_params: {
      // Left out it is 16 on older servers, and the rest of the context on newer ones.
      max_tokens: request.maxTokens,
      stop_token_ids: request.stopIds,
      temperature: request.temperature,
      top_p: request.topP,
      structured_outputs: request.json && { json: request.json },
      skip_special_tokens: false,
    },
  }),
  reader: (request) => new GenerateReader(request),
  abort: {
    path: '/inference/v1/abort_requests',
    body: (id) => ({ request_ids: [`${REQUEST_PREFIX}${id}`] }),
  },
};

/** Reads the stream, or the one JSON object of servers that cannot stream here. */
class GenerateReader implements EventReader {
  readonly #request: GenerateRequest;
  #sampled = 0;
  #last: number | undefined;

  constructor(request: GenerateRequest) {
    this.#request = request;
  }

  read(event: Fields): EngineChunk {
    const chunk = completionChunk(event, this.#request.tokenizer?.vocabularySize);
    this.#sampled += chunk.ids.length;
    this.#last = chunk.ids.at(-1) ?? this.#last;
    return chunk;
  }

  /** A last chunk that brings no ids is left out by some versions, and with it the reason: the ids tell it. */
  endOf(failed: boolean): FinishReason | undefined {
    if (failed) return undefined;
    if (this.#last !== undefined && this.#request.stopIds.includes(this.#last)) return 'stop';
    return this.#sampled >= this.#request.maxTokens ? 'length' : undefined;
  }
}
