import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { HARMONY, o200kHarmony } from './o200k-harmony.js';

const tokenizer = o200kHarmony();

function deltas(ids: Iterable<number>): string[] {
  const detokenizer = tokenizer.detokenizer();
  return [...Array.from(ids, (id) => detokenizer.push(id)), detokenizer.flush()];
}

describe('detokenizer', () => {
  it('gives what a WHATWG decoder makes of the same bytes, for any ids', () => {
    const partial = Array.from({ length: 199_998 }, (_, id) => id).filter((id) =>
      new TextDecoder().decode(tokenizer.bytes(id)).includes('\ufffd'),
    );
    expect(partial.length).toBeGreaterThan(1000);
    const id = fc.oneof(
      fc.constantFrom(...partial),
      fc.integer({ min: 0, max: 255 }),
      fc.integer({ min: 0, max: tokenizer.vocabularySize - 1 }),
    );
    fc.assert(
      fc.property(fc.array(id, { maxLength: 30 }), (ids) => {
        const bytes = Buffer.concat(ids.map((one) => tokenizer.bytes(one)));
        const expected = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
        expect(deltas(ids).join('')).toBe(expected);
        expect(tokenizer.decode(ids)).toBe(expected);
      }),
      { numRuns: 2000 },
    );
  });

  it('replaces what no later token can complete', () => {
    expect(deltas([9552, 9552]).join('')).toBe(' \ufffd \ufffd');
    expect(deltas([9552, ...tokenizer.encode('XY')]).join('')).toBe(' \ufffdXY');
    expect(deltas([9552, ...tokenizer.encode(' interesting story')]).join('')).toBe(
      ' \ufffd interesting story',
    );
    expect(deltas([9552, HARMONY.end]).join('')).toBe(' \ufffd<|end|>');
    expect(deltas([9552])).toEqual([' ', '\ufffd']);
  });

  it('holds an incomplete character back, and nothing else', () => {
    const text = 'Müller, Γειά, नमस्ते, こんにちは, nai\u0308ve, 😊👋🏾👨‍👩‍👧‍👦🇺🇸🫠🫡한\ufeff.';
    const parts = deltas(tokenizer.encode(text));
    expect(parts.join('')).toBe(text);
    for (const part of parts) {
      expect(part.isWellFormed()).toBe(true);
      expect(part).not.toContain('\ufffd');
    }
    expect(parts.at(-1)).toBe('');
  });

  it('starts anew after a flush', () => {
    const detokenizer = tokenizer.detokenizer();
    detokenizer.push(9552);
    expect(detokenizer.flush()).toBe('\ufffd');
    expect(detokenizer.push(24912) + detokenizer.flush()).toBe('hello');
  });
});
