import { fitsRow, roundedQuotient, rowAmount } from './money.js';
import type { Rates, TokenRates } from './price-book.js';
import type { Charge, Outcome, TokenCounts, UsagePart } from './usage-record.js';

const FACTOR_ONE = 1_000_000_000n;
const NO_TOKENS: TokenCounts = { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0, image: 0 };
/** Of a sum of tokens times nano-dollars a million times two factors. */
const DENOMINATOR = 1_000_000n * FACTOR_ONE * FACTOR_ONE;

/**
 * The bill of a turn. It is rounded once, over all of it.
 * @param rates of its model when it was admitted; undefined when it has no price
 */
export function chargeFor(
  turn: { readonly parts: readonly UsagePart[]; readonly outcome: Outcome; readonly serviceTier: string },
  rates: Rates | undefined,
): Charge {
  if (rates === undefined) return { rule: 'unpriced', priceVersion: null, amount: 0 };
  const priceVersion = rates.version;
  const isEmpty = turn.parts.every(({ tokens }) => tokens.output === 0);
  if (turn.outcome === 'failed' && isEmpty) {
    return { rule: 'free_failed_before_output', priceVersion, amount: 0 };
  }
  const price = priceOf(turn.parts, turn.serviceTier, rates);
  // No price that anybody meant comes to that: the turn is not lost for it, and a corrected version can rate it.
  if (!fitsRow(price)) return { rule: 'unpriced', priceVersion, amount: 0 };
  return { rule: 'billed', priceVersion, amount: rowAmount(price) };
}

/** Nano-dollars for tokens, whatever became of them. */
export function priceOf(parts: readonly UsagePart[], serviceTier: string, rates: Rates): bigint {
  const tier = rates.serviceTiers.get(serviceTier) ?? FACTOR_ONE;
  let sum = 0n;
  for (const { purpose, prompt, tokens } of parts) {
    const factor =
      purpose === 'answer' ? FACTOR_ONE : purpose === 'warm_up' ? rates.warmUp : rates.compaction;
    sum += cost(tokens, ratesFor(prompt, rates)) * factor;
  }
  return roundedQuotient(sum * tier, DENOMINATOR);
}

/**
 * The most that tokens can come to, with so much output more: what is read counts at the dearest of its prices, because
 * what of it was cached is known at the end only.
 */
export function worstPriceOf(
  parts: readonly UsagePart[],
  output: number,
  serviceTier: string,
  rates: Rates,
): bigint {
  const more = parts.map((part, index) => {
    const { input, output: sampled } = part.tokens;
    const tokens = { ...NO_TOKENS, input, output: sampled + (index === parts.length - 1 ? output : 0) };
    return { ...part, tokens };
  });
  const dearest = (given: TokenRates): TokenRates => {
    const { input, cachedInput, cacheWrite, image } = given;
    const most = [cachedInput, cacheWrite, image].reduce((max, each) => (each > max ? each : max), input);
    return { ...given, input: most };
  };
  return priceOf(more, serviceTier, {
    ...rates,
    base: dearest(rates.base),
    tiers: rates.tiers.map(({ above, rates: tier }) => ({ above, rates: dearest(tier) })),
  });
}

/** Whether nothing that a model does can cost anything. */
export function isFree({ base, tiers }: Rates): boolean {
  return [base, ...tiers.map(({ rates }) => rates)].every((rates) =>
    [rates.input, rates.cachedInput, rates.cacheWrite, rates.image, rates.output].every(
      (rate) => rate === 0n,
    ),
  );
}

/** Prices for a prompt of that many tokens. */
function ratesFor(prompt: number, { base, tiers }: Rates): TokenRates {
  return tiers.find(({ above }) => prompt > above)?.rates ?? base;
}

/** Tokens times prices. What was read from a cache or written to one is not charged a second time as input. */
function cost(tokens: TokenCounts, rates: TokenRates): bigint {
  const { input, cached, cacheWrite, output, image } = possible(tokens);
  const fresh = input - cached - cacheWrite;
  const images = Math.min(image, fresh);
  return (
    BigInt(fresh - images) * rates.input +
    BigInt(images) * rates.image +
    BigInt(cached) * rates.cachedInput +
    BigInt(cacheWrite) * rates.cacheWrite +
    BigInt(output) * rates.output
  );
}

/** Counts of which no part is more than its whole: an engine's word is not taken for the impossible. */
export function possible(tokens: TokenCounts): TokenCounts {
  const cached = Math.min(tokens.cached, tokens.input);
  return {
    input: tokens.input,
    cached,
    cacheWrite: Math.min(tokens.cacheWrite, tokens.input - cached),
    output: tokens.output,
    reasoning: Math.min(tokens.reasoning, tokens.output),
    image: Math.min(tokens.image, tokens.input),
  };
}
