import type { FinishReason } from '@turnpike/formats';
import type { Dialect, EventReader } from '../dialect.js';
import type { EngineChunk, GenerateRequest } from '../engine-client.js';
import type { EngineUsage } from '../engine-usage.js';
import { refuseError } from '../engine-errors.js';
import { countOf, fieldsOf, idsOf, textWithoutIds, type Fields } from '../read-values.js';
import { withLostIds } from './lost-ids.js';

/**
 * llama.cpp's `/completion`. Prompts of tenants share its cache: it has no salt. Source: llama.cpp v0.4.0,
 * tools/server/README.md and server-task.cpp.
 */
export const llamaServerCompletion: Dialect = {
  capabilities: {
    api: 'llama-server /completion',
    tokensIn: true,
    tokensOut: 'reconstructed',
    // It ends at those that its model file names.
    stopIds: false,
    cachedCount: true,
    abort: false,
    grammars: ['json', 'gbnf'],
    logprobs: true,
  },
  path: '/completion',
  promptField: 'prompt',
  settings: (request) => ({
    model: request.model,
    // Left out it would go on until the context is full.
    n_predict: request.maxTokens,
    temperature: request.temperature,
    top_p: request.topP,
    // Its own defaults (40 and 0.05) would cut off what the request allows.
    top_k: 0,
    min_p: 0,
    json_schema: request.json,
    // Closing a connection ends only a request that streams.
    stream: true,
    return_tokens: true,
    cache_prompt: true,
  }),
  reader: (request) => new LlamaServerReader(request),
};

/** Why it stopped. `none` is an output that was cut. */
const FINISH: Readonly<Record<string, FinishReason>> = { eos: 'stop', word: 'stop', limit: 'length' };

class LlamaServerReader implements EventReader {
  readonly #request: GenerateRequest;
  /** Ids that the server says it sampled and that are accounted for. */
  #taken = 0;
  #stopped = false;

  constructor(request: GenerateRequest) {
    this.#request = request;
  }

  read(event: Fields): EngineChunk {
    refuseError(event);
    // Its ids mean nothing, and it counts nothing.
    if (event['prompt_progress'] !== undefined) return { ids: [] };
    const { tokenizer, stopIds } = this.#request;
    const given = idsOf(event['tokens'], tokenizer?.vocabularySize);
    const content = typeof event['content'] === 'string' ? event['content'] : '';
    const isLast = event['stop'] === true;
    if (given.length === 0 && content !== '' && !isLast) throw textWithoutIds();
    const missing = Math.max(0, (countOf(event['tokens_predicted']) ?? 0) - this.#taken - given.length);
    const repaired =
      missing > 0 && given.length > 0 && tokenizer !== undefined
        ? withLostIds(content, given, missing, tokenizer)
        : given;
    const lost = missing + given.length - repaired.length;
    if (given.length > 0 || isLast) this.#taken += missing + given.length;
    const stop = repaired.findIndex((id) => stopIds.includes(id));
    if (stop !== -1) this.#stopped = true;
    return {
      ids: stop === -1 ? repaired : repaired.slice(0, stop + 1),
      // What is said behind the last id is how an output ends that broke off inside of a character.
      lost: lost > 0 && (isLast || given.length > 0) ? lost : undefined,
      finish: stop !== -1 ? 'stop' : isLast ? (FINISH[String(event['stop_type'])] ?? 'abort') : undefined,
      usage: isLast ? usageOf(event) : undefined,
    };
  }

  /** An output that is no text fails behind its last id: with a stop id it was whole. */
  endOf(): FinishReason | undefined {
    return this.#stopped ? 'stop' : undefined;
  }
}

/** `tokens_cached` is not what was found in the cache, but what is in it now. */
function usageOf(event: Fields): EngineUsage {
  return {
    promptTokens: countOf(event['tokens_evaluated']),
    completionTokens: countOf(event['tokens_predicted']),
    cachedTokens: countOf(fieldsOf(event['timings'])['cache_n']),
  };
}
