import type { EngineChunk } from '../engine-client.js';
import type { EngineUsage } from '../engine-usage.js';
import { refuseError } from '../engine-errors.js';
import { finishOf } from '../dialect.js';
import { countOf, fieldsOf, idsOf, textWithoutIds, type Fields } from '../read-values.js';

/**
 * What one event of a completions stream with `token_ids` says; every field may be missing.
 * @param vocabularySize one more than the largest id there is
 * @throws ApiError when the event is an error inside the stream, has text without its ids, or ids that are none
 */
export function completionChunk(event: Fields, vocabularySize: number | undefined): EngineChunk {
  refuseError(event);
  const { choices, usage } = event;
  const choice = fieldsOf(Array.isArray(choices) ? choices[0] : undefined);
  const ids = idsOf(choice['token_ids'], vocabularySize);
  if (ids.length === 0 && choice['text']) throw textWithoutIds();
  return { ids, finish: finishOf(choice['finish_reason']), usage: completionUsage(usage) };
}

/** `usage` as OpenAI's APIs have it. */
function completionUsage(usage: unknown): EngineUsage | undefined {
  if (usage === undefined || usage === null) return undefined;
  const fields = fieldsOf(usage);
  return {
    promptTokens: countOf(fields['prompt_tokens']),
    completionTokens: countOf(fields['completion_tokens']),
    cachedTokens: countOf(fieldsOf(fields['prompt_tokens_details'])['cached_tokens']),
  };
}
