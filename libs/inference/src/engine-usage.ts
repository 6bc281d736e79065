/** Counts as the engine reports them; undefined where it does not. */
export interface EngineUsage {
  readonly promptTokens?: number | undefined;
  readonly cachedTokens?: number | undefined;
  /** Of the prompt, what it wrote to a cache that has a price of its own. */
  readonly cacheWriteTokens?: number | undefined;
  readonly completionTokens?: number | undefined;
  /** Of those, reasoning. Said by servers that give text only. */
  readonly reasoningTokens?: number | undefined;
}
