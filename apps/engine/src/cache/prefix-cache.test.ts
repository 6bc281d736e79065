import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { commonPrefix } from './common-prefix.js';
import { PrefixCache, type Slot } from './prefix-cache.js';
import { idsToJson, TokenSequence } from './token-sequence.js';

const idArray = fc.array(fc.integer({ min: 0, max: 1200 }), { minLength: 1, maxLength: 700 });

/** Admits a prompt as a request would, and generates `output` after it. */
function request(
  cache: PrefixCache<never>,
  prompt: readonly number[],
  output: readonly number[] = [],
  salt?: string,
) {
  const json = idsToJson(prompt);
  const match = cache.match(json, 0, json.length - 1, salt);
  const ids = Int32Array.from(prompt);
  const slot = cache.admit(match, ids.subarray(match.tokens), json.subarray(match.bytes));
  expect([...slot.sequence.ids()]).toEqual(prompt);
  slot.sequence.append(Int32Array.from(output));
  return { cached: match.tokens, slot };
}

function longestCommonPrefix(prompt: readonly number[], kept: readonly (readonly number[])[]): number {
  const lengths = kept.map((other) => {
    let i = 0;
    while (i < prompt.length && i < other.length && prompt[i] === other[i]) i++;
    return i;
  });
  return Math.max(0, ...lengths);
}

describe('commonPrefix', () => {
  it('finds the first byte that differs', () => {
    fc.assert(
      fc.property(fc.nat(9000), fc.nat(9000), fc.nat(20), (length, at, offset) => {
        const a = Buffer.alloc(offset + length, 7);
        const b = Buffer.alloc(length, 7);
        if (at < length) b[at] = 8;
        expect(commonPrefix(a, offset, offset + length, b)).toBe(Math.min(at, length));
      }),
    );
  });
});

describe('TokenSequence', () => {
  it('keeps ids and JSON in step however they are appended', () => {
    fc.assert(
      fc.property(fc.array(idArray, { maxLength: 5 }), fc.nat(), (batches, seed) => {
        const sequence = new TokenSequence();
        for (const batch of batches) sequence.append(Int32Array.from(batch));
        const all = batches.flat();
        expect([...sequence.ids()]).toEqual(all);
        expect(sequence.json().equals(idsToJson(all))).toBe(true);
        const tokens = seed % (all.length + 1);
        const bytes = idsToJson(all.slice(0, tokens)).length;
        expect(sequence.tokensBefore(bytes)).toBe(tokens);
        const prefix = sequence.prefix(tokens, bytes);
        prefix.append(Int32Array.from([1, 22, 333]));
        expect(prefix.tokensBefore(idsToJson([...all.slice(0, tokens), 1]).length)).toBe(tokens + 1);
        expect([...sequence.ids()]).toEqual(all);
      }),
      { numRuns: 50 },
    );
  });
});

describe('PrefixCache', () => {
  it('counts what was generated as cached, the stop token included', () => {
    const cache = new PrefixCache<never>(4);
    expect(request(cache, [1, 2, 3], [4, 200012]).cached).toBe(0);
    expect(request(cache, [1, 2, 3, 4, 200012, 9]).cached).toBe(5);
    expect(request(cache, [1, 2, 3, 4, 200007, 9]).cached).toBe(4);
  });

  it('finds nothing that was kept under another salt', () => {
    const cache = new PrefixCache<never>(4);
    const cached = (salt?: string) => request(cache, [1, 2, 3], [], salt).cached;
    expect([cached('a'), cached('b'), cached(), cached('a'), cached('b'), cached()]).toEqual([
      0, 0, 0, 3, 3, 3,
    ]);
  });

  it('does not take a shorter number for the beginning of a longer one', () => {
    const cache = new PrefixCache<never>(4);
    request(cache, [1, 23]);
    expect(request(cache, [1, 2]).cached).toBe(1);
    expect(request(cache, [1, 234]).cached).toBe(1);
    expect(request(cache, [1, 23]).cached).toBe(2);
    expect(request(cache, [1]).cached).toBe(1);
  });

  it('agrees with a plain comparison of all kept sequences', () => {
    const small = fc.array(fc.constantFrom(1, 2, 11, 12), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(fc.array(fc.tuple(small, small), { maxLength: 12 }), (requests) => {
        const cache = new PrefixCache<never>(100);
        const kept: number[][] = [];
        for (const [prompt, output] of requests) {
          expect(request(cache, prompt, output).cached).toBe(longestCommonPrefix(prompt, kept));
          kept.push([...prompt, ...output]);
        }
      }),
    );
  });

  it('forgets the least recently used sequence', () => {
    const cache = new PrefixCache<never>(2);
    request(cache, [1, 1]);
    request(cache, [2, 2]);
    request(cache, [1, 1, 1]);
    request(cache, [3, 3]);
    expect(cache.size).toBe(2);
    expect(request(cache, [2, 2]).cached).toBe(0);
  });

  it('continues a sequence in place, and branches off one that somebody else continues', () => {
    const cache = new PrefixCache<never>(8);
    const first: Slot<never> = request(cache, [1, 2]).slot;
    expect(request(cache, [1, 2, 3]).slot).toBe(first);
    first.running = true;
    const second = request(cache, [1, 2, 3, 4]);
    expect(second.cached).toBe(3);
    expect(second.slot).not.toBe(first);
    expect([...first.sequence.ids()]).toEqual([1, 2, 3]);
  });
});
