import { ApiError } from '@turnpike/protocol';
import type { FinishReason } from '@turnpike/formats';
import type { EngineChunk, EngineUsage } from './engine-client.js';
import { errorOfObject } from './engine-errors.js';

/** One event of a completions stream; every field may be missing. */
export interface CompletionEvent {
  choices?: { text?: string | null; token_ids?: unknown[] | null; finish_reason?: string | null }[] | null;
  usage?: {
    prompt_tokens?: unknown;
    completion_tokens?: unknown;
    prompt_tokens_details?: { cached_tokens?: unknown } | null;
  } | null;
  error?: unknown;
  object?: string;
}

/** Reasons other than these are treated as a cut. */
const FINISH: Readonly<Record<string, FinishReason>> = { stop: 'stop', length: 'length', abort: 'abort' };

/**
 * What one event says.
 * @param vocabularySize one more than the largest id there is
 * @throws ApiError when the event is an error inside the stream, has text without its ids, or ids that are none
 */
export function chunkOf(event: CompletionEvent, vocabularySize: number): EngineChunk {
  if (event.error !== undefined && event.error !== null) throw errorOfObject(event.error);
  if (event.object === 'error') throw errorOfObject(event);
  const choice = event.choices?.[0];
  const ids = choice?.token_ids ?? [];
  if (ids.length === 0 && choice?.text) {
    throw new ApiError('engine_error', { cause: new Error('the engine sends text and no token ids') });
  }
  if (!ids.every((id): id is number => isCount(id) && id < vocabularySize)) {
    throw new ApiError('engine_error', {
      cause: new Error('the engine sends ids outside of the vocabulary'),
    });
  }
  const reason = choice?.finish_reason;
  return {
    ids,
    finish: typeof reason === 'string' ? (FINISH[reason] ?? 'abort') : undefined,
    usage: usageOf(event.usage),
  };
}

function usageOf(usage: CompletionEvent['usage']): EngineUsage | undefined {
  if (usage === undefined || usage === null) return undefined;
  return {
    promptTokens: countOf(usage.prompt_tokens),
    completionTokens: countOf(usage.completion_tokens),
    cachedTokens: countOf(usage.prompt_tokens_details?.cached_tokens),
  };
}

/** A count as an engine reports it; what is no count is taken as not reported. */
function countOf(value: unknown): number | undefined {
  return isCount(value) ? value : undefined;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
