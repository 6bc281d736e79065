import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LlamaText } from './llama-text.js';

/** Ids are bytes, 1000 is a control token and 2000 the end. */
const model = {
  isEogToken: (id: number) => id === 2000,
  detokenize: (ids: readonly number[], special: boolean) =>
    Buffer.concat(
      ids.map((id) => (id < 1000 ? Buffer.of(id) : Buffer.from(special ? '<|x|>' : ''))),
    ).toString(),
};
const ids = (text: string) => Int32Array.from(Buffer.from(text));

describe('LlamaText', () => {
  it('gives characters when they are whole, whatever the cuts', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.array(fc.nat(40)), (text, cuts) => {
        const bytes = ids(text);
        const ends = [...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
        const reader = new LlamaText(model, true);
        let from = 0;
        const pieces = ends.map((end, i) => {
          const piece = reader.push(bytes.subarray(from, end), null, i === ends.length - 1);
          from = end;
          return piece;
        });
        expect(pieces.join('')).toBe(text);
      }),
    );
  });

  it('gives what never becomes whole at the end, and does not wait for it for long', () => {
    expect(new LlamaText(model, true).push(Int32Array.of(0xf0), null, true)).toBe('\ufffd');
    const reader = new LlamaText(model, true);
    const pieces = [0x80, 0x80, 0x80, 0x80].map((id) => reader.push(Int32Array.of(id), null, false));
    expect(pieces.join('')).toBe('\ufffd'.repeat(4));
  });

  it('leaves out the token that ended the output, and control tokens where they are to be skipped', () => {
    const a = Int32Array.of(97, 1000, 98);
    expect(new LlamaText(model, true).push(a, null, true)).toBe('ab');
    expect(new LlamaText(model, false).push(a, null, true)).toBe('a<|x|>b');
    expect(new LlamaText(model, false).push(a, 98, true)).toBe('a<|x|>');
    expect(new LlamaText(model, false).push(Int32Array.of(97, 2000), null, true)).toBe('a');
  });
});
