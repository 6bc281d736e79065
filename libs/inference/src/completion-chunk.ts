import { ApiError } from '@turnpike/protocol';
import type { FinishReason } from '@turnpike/formats';
import type { EngineChunk, EngineUsage } from './engine-client.js';
import { errorOfObject } from './engine-errors.js';

/** One event of a completions stream; every field may be missing. */
export interface CompletionEvent {
  choices?: { text?: string | null; token_ids?: number[] | null; finish_reason?: string | null }[] | null;
  usage?: {
    prompt_tokens?: number | null;
    completion_tokens?: number | null;
    prompt_tokens_details?: { cached_tokens?: number | null } | null;
  } | null;
  error?: unknown;
  object?: string;
}

/** Reasons other than these are treated as a cut. */
const FINISH: Readonly<Record<string, FinishReason>> = { stop: 'stop', length: 'length', abort: 'abort' };

/**
 * What one event says.
 * @throws ApiError when the event is an error inside the stream, or has text without its ids
 */
export function chunkOf(event: CompletionEvent): EngineChunk {
  if (event.error !== undefined && event.error !== null) throw errorOfObject(event.error);
  if (event.object === 'error') throw errorOfObject(event);
  const choice = event.choices?.[0];
  const ids = choice?.token_ids ?? [];
  if (ids.length === 0 && choice?.text) {
    throw new ApiError('engine_error', { cause: new Error('the engine sends text and no token ids') });
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
    promptTokens: usage.prompt_tokens ?? undefined,
    completionTokens: usage.completion_tokens ?? undefined,
    cachedTokens: usage.prompt_tokens_details?.cached_tokens ?? undefined,
  };
}
