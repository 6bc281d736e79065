import type { EngineUsage } from '@turnpike/inference';

/** Counts of an engine of which none is more than it can be. */
export interface PossibleUsage extends EngineUsage {
  /** Whether one was, and is cut to what is possible. */
  readonly isCut: boolean;
}

/** Most tokens that there can have been. */
export interface UsageBounds {
  /** Of the prompt: what was sent where that is known, else what the model has room for. */
  readonly prompt: number;
  /** Of the output. */
  readonly output: number;
}

/** An engine's word on what it did, as far as that can be true: nobody is billed for more. */
export function possibleUsage(usage: EngineUsage, bounds: UsageBounds): PossibleUsage {
  let isCut = false;
  const cut = (count: number | undefined, most: number): number | undefined => {
    if (count === undefined || count <= most) return count;
    isCut = true;
    return most;
  };
  const promptTokens = cut(usage.promptTokens, bounds.prompt);
  const completionTokens = cut(usage.completionTokens, bounds.output);
  const prompt = promptTokens ?? bounds.prompt;
  const cachedTokens = cut(usage.cachedTokens, prompt);
  const cacheWriteTokens = cut(usage.cacheWriteTokens, prompt - (cachedTokens ?? 0));
  const reasoningTokens = cut(usage.reasoningTokens, completionTokens ?? bounds.output);
  return { promptTokens, completionTokens, cachedTokens, cacheWriteTokens, reasoningTokens, isCut };
}
