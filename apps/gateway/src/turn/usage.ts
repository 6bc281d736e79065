import type { EngineUsage } from '@turnpike/inference';
import type { Usage } from '@turnpike/protocol';

/**
 * Counts are ours where they come of ids; what was cached, or written to a cache, is always the engine's word, and never
 * above the prompt.
 */
export function usageOf(
  promptTokens: number,
  outputTokens: number,
  reasoningTokens: number,
  engine: EngineUsage | undefined,
): Usage {
  const cached = Math.min(engine?.cachedTokens ?? 0, promptTokens);
  return {
    input_tokens: promptTokens,
    input_tokens_details: {
      cached_tokens: cached,
      cache_write_tokens: Math.min(engine?.cacheWriteTokens ?? 0, promptTokens - cached),
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: promptTokens + outputTokens,
  };
}

/** What two requests to an engine took together. */
export function sumOf(a: Usage, b: Usage): Usage {
  return {
    input_tokens: a.input_tokens + b.input_tokens,
    input_tokens_details: {
      cached_tokens: a.input_tokens_details.cached_tokens + b.input_tokens_details.cached_tokens,
      cache_write_tokens:
        a.input_tokens_details.cache_write_tokens + b.input_tokens_details.cache_write_tokens,
    },
    output_tokens: a.output_tokens + b.output_tokens,
    output_tokens_details: {
      reasoning_tokens: a.output_tokens_details.reasoning_tokens + b.output_tokens_details.reasoning_tokens,
    },
    total_tokens: a.total_tokens + b.total_tokens,
  };
}

/**
 * What a later request to the engine took. The prompt it found in its cache was read, and counted, before, unless all of it is
 * counted once more; reasoning is counted over the whole response.
 */
export function withoutKnown(usage: Usage, before: Usage, readsAll: boolean): Usage {
  const reasoning = usage.output_tokens_details.reasoning_tokens;
  return {
    ...usage,
    input_tokens_details: readsAll ? usage.input_tokens_details : { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens_details: {
      reasoning_tokens: reasoning - before.output_tokens_details.reasoning_tokens,
    },
  };
}
