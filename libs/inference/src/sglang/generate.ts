import type { FinishReason } from '@turnpike/formats';
import type { Dialect, EventReader } from '../dialect.js';
import { finishOf } from '../dialect.js';
import type { EngineChunk, GenerateRequest } from '../engine-client.js';
import { errorOfBody, refuseError } from '../engine-errors.js';
import { countOf, fieldsOf, idsOf, textWithoutIds, type Fields } from '../read-values.js';

/** SGLang's own `/generate`. Source: sglang/srt/managers/io_struct.py and tokenizer_manager.py. */
export const sglangGenerate: Dialect = {
  capabilities: {
    api: 'sglang /generate',
    tokensIn: true,
    tokensOut: 'exact',
    stopIds: true,
    cachedCount: true,
    abort: true,
    grammars: ['json', 'regex', 'ebnf', 'structural_tag'],
    logprobs: true,
  },
  path: '/generate',
  promptField: 'input_ids',
  settings: (request, id) => ({
    rid: id,
    stream: true,
    cache_salt: request.cacheSalt,
    // What versions without a salt keep prompts apart by.
    extra_key: request.cacheSalt,
    sampling_params: {
      // Left out it would be 128.
      max_new_tokens: request.maxTokens,
      stop_token_ids: request.stopIds,
      temperature: request.temperature,
      top_p: request.topP,
      // A schema as text.
      json_schema: request.json && JSON.stringify(request.json),
      skip_special_tokens: false,
      spaces_between_special_tokens: false,
      no_stop_trim: true,
    },
  }),
  reader: (request) => new SglangReader(request),
  // Closing the connection ends a request as well, one or two seconds later.
  abort: { path: '/abort_request', body: (id) => ({ rid: id }) },
};

/**
 * Events bring all ids so far, or with `--incremental-streaming-output` only those that are new. Which of the two it is
 * can be told from the count beside them, and stays so.
 */
class SglangReader implements EventReader {
  readonly #request: GenerateRequest;
  #taken = 0;
  #repeats = false;

  constructor(request: GenerateRequest) {
    this.#request = request;
  }

  read(event: Fields): EngineChunk {
    refuseError(event);
    const meta = fieldsOf(event['meta_info']);
    const given = idsOf(event['output_ids'], this.#request.tokenizer?.vocabularySize);
    if (given.length === 0 && event['text'] && event['output_ids'] === undefined) throw textWithoutIds();
    const completionTokens = countOf(meta['completion_tokens']);
    const count = completionTokens ?? given.length;
    this.#repeats ||= this.#taken > 0 && given.length > this.#taken && given.length >= count;
    const isNew = !this.#repeats && this.#taken + given.length <= count;
    const ids = isNew ? given : given.slice(this.#taken);
    const lost = isNew && given.length > 0 ? count - this.#taken - given.length : 0;
    this.#taken += ids.length + lost;
    return {
      ids,
      lost: lost > 0 ? lost : undefined,
      finish: reasonOf(meta['finish_reason']),
      usage:
        completionTokens === undefined
          ? undefined
          : {
              promptTokens: countOf(meta['prompt_tokens']),
              completionTokens,
              cachedTokens: countOf(meta['cached_tokens']),
            },
    };
  }
}

/** @throws ApiError for an abort that says what it was for */
function reasonOf(reason: unknown): FinishReason | undefined {
  const { type, message, status_code: status } = fieldsOf(reason);
  if (type === 'abort' && typeof message === 'string' && typeof status === 'number') {
    throw errorOfBody(status, message);
  }
  return finishOf(type);
}
