import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { chargeFor, priceOf } from './charge.js';
import { dollars } from './money.js';
import { DEFAULT_PRICES, PriceBook, type Rates } from './price-book.js';
import type { Outcome, TokenCounts, UsagePart } from './usage-record.js';

const NONE: TokenCounts = { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0, image: 0 };
const part = (tokens: Partial<TokenCounts>, purpose: UsagePart['purpose'] = 'answer'): UsagePart => ({
  purpose,
  prompt: tokens.input ?? 0,
  tokens: { ...NONE, ...tokens },
});

function rates(model: string): Rates {
  const book = PriceBook.parse(`versions: [{ version: a, from: "2026-01-01", models: { m: ${model} } }]`);
  const found = book.ratesOf('m', 'a');
  if (found === undefined) throw new Error('there are no prices');
  return found;
}

const price = (model: string, ...parts: UsagePart[]) => dollars(priceOf(parts, 'default', rates(model)));
const charge = (outcome: Outcome, tokens: Partial<TokenCounts>) =>
  chargeFor({ parts: [part(tokens)], outcome, serviceTier: 'default' }, rates('{ input: 1, output: 2 }'));

describe('the price of tokens', () => {
  it('E11: cached tokens are charged once, at their own price', () => {
    const tokens = { input: 262_960, cached: 257_955, output: 1_744 };
    expect(price('{ input: 1.25, cachedInput: 0.625, output: 10 }', part(tokens))).toBe('0.184918125');
  });

  it('E11: more cached than read is cut to what was read, and never a negative amount', () => {
    expect(price('{ input: 1, cachedInput: 0.5, output: 0 }', part({ input: 10, cached: 1_000 }))).toBe(
      '0.000005',
    );
  });

  it('reasoning is part of the output and costs nothing more', () => {
    const model = '{ input: 0, output: 3 }';
    expect(price(model, part({ output: 1_000_000, reasoning: 900_000 }))).toBe('3');
  });

  it('writing to a cache and images have prices of their own, and those of input without', () => {
    const tokens = { input: 1_000_000, cacheWrite: 200_000, image: 300_000 };
    expect(price('{ input: 1, cacheWrite: 2, image: 3, output: 0 }', part(tokens))).toBe('1.8');
    expect(price('{ input: 1, output: 0 }', part(tokens))).toBe('1');
  });

  it('a tier is that of the own prompt of each part, whatever the others have', () => {
    const model = '{ input: 1, output: 1, tiers: [{ above: 1000, input: 2, output: 2 }] }';
    expect(price(model, part({ input: 1_000 }), part({ input: 1_000 }))).toBe('0.002');
    expect(price(model, part({ input: 1_001 }), part({ input: 1_000 }))).toBe('0.003002');
  });

  it('service tiers, warm-ups and compactions are factors', () => {
    const model = '{ input: 1, output: 1, serviceTiers: { flex: 0.5 }, warmUp: 0.25, compaction: 3 }';
    const million = { input: 1_000_000 };
    const all = [part(million), part(million, 'warm_up'), part(million, 'compaction')];
    expect(dollars(priceOf(all, 'flex', rates(model)))).toBe('2.125');
    expect(price('{ input: 1, output: 1 }', part(million, 'warm_up'))).toBe('0');
  });

  it('is rounded once: parts add up to what their sum costs', () => {
    const model = '{ input: 0.0375, output: 0 }';
    // 37.5 nano-dollars a token.
    expect(dollars(priceOf([part({ input: 1 })], 'default', rates(model)))).toBe('0.000000038');
    expect(price(model, part({ input: 1 }), part({ input: 1 }))).toBe('0.000000075');
  });

  it('is never less for more tokens, and never negative', () => {
    const counts = fc.record({
      input: fc.nat(2_000_000),
      cached: fc.nat(2_000_000),
      cacheWrite: fc.nat(1_000),
      output: fc.nat(100_000),
      reasoning: fc.nat(1_000),
      image: fc.nat(2_000_000),
    });
    const given = rates('{ input: 1.25, cachedInput: 0.1, cacheWrite: 1.5, image: 2, output: 10 }');
    fc.assert(
      fc.property(counts, fc.nat(1_000), (tokens, more) => {
        const before = priceOf([{ purpose: 'answer', prompt: 0, tokens }], 'default', given);
        const longer = { ...tokens, output: tokens.output + more };
        expect(before).toBeGreaterThanOrEqual(0n);
        expect(
          priceOf([{ purpose: 'answer', prompt: 0, tokens: longer }], 'default', given),
        ).toBeGreaterThanOrEqual(before);
      }),
    );
  });
});

describe('what is charged', () => {
  it.each(['completed', 'incomplete', 'cancelled', 'disconnected', 'lost'] as const)(
    '%s: what was read and produced',
    (outcome) => {
      expect(charge(outcome, { input: 10, output: 5 })).toEqual({
        rule: 'billed',
        priceVersion: 'a',
        amount: 20_000,
      });
      expect(charge(outcome, { input: 10 }).amount).toBe(10_000);
    },
  );

  it('failed: nothing before any output, everything after it', () => {
    expect(charge('failed', { input: 10 })).toMatchObject({ rule: 'free_failed_before_output', amount: 0 });
    expect(charge('failed', { input: 10, output: 1 })).toMatchObject({ rule: 'billed', amount: 12_000 });
  });

  it('an explicit zero is a price, an absent one is none', () => {
    const turn = { parts: [part({ input: 5 })], outcome: 'completed', serviceTier: 'default' } as const;
    expect(chargeFor(turn, DEFAULT_PRICES.ratesAt('sim', Date.now()))).toMatchObject({
      rule: 'billed',
      priceVersion: 'built-in',
      amount: 0,
    });
    expect(chargeFor(turn, DEFAULT_PRICES.ratesAt('other', Date.now()))).toEqual({
      rule: 'unpriced',
      priceVersion: null,
      amount: 0,
    });
  });
});
