import { expect, it } from '@jest/globals';
import type { EngineUsage } from '@turnpike/inference';
import { possibleUsage } from './possible-usage.js';

const BOUNDS = { prompt: 1_000, output: 100 };

it.each<[string, EngineUsage, EngineUsage | undefined]>([
  [
    'what can be',
    { promptTokens: 1_000, completionTokens: 100, cachedTokens: 1_000, reasoningTokens: 100 },
    undefined,
  ],
  ['zeros', { promptTokens: 0, completionTokens: 0, cachedTokens: 0, cacheWriteTokens: 0 }, undefined],
  ['nothing', {}, undefined],
  ['a prompt over the context', { promptTokens: 9e15 }, { promptTokens: 1_000 }],
  [
    'an output over its limit',
    { completionTokens: 9e15, reasoningTokens: 9e15 },
    { completionTokens: 100, reasoningTokens: 100 },
  ],
  ['more cached than read', { promptTokens: 50, cachedTokens: 51 }, { promptTokens: 50, cachedTokens: 50 }],
  ['more cached than sent', { cachedTokens: 1_001 }, { cachedTokens: 1_000 }],
  [
    'more cached and written to the cache than read',
    { promptTokens: 50, cachedTokens: 30, cacheWriteTokens: 30 },
    { promptTokens: 50, cachedTokens: 30, cacheWriteTokens: 20 },
  ],
  [
    'more reasoning than output',
    { completionTokens: 5, reasoningTokens: 6 },
    { completionTokens: 5, reasoningTokens: 5 },
  ],
])('%s', (_what, said, cut) => {
  expect(possibleUsage(said, BOUNDS)).toEqual({ ...said, ...cut, isCut: cut !== undefined });
});
