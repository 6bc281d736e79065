import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { excerpt, quote } from './excerpt.js';

describe('excerpt', () => {
  it('is the first code points, whatever they are', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 30 }), fc.nat(12), (text, count) => {
        expect(excerpt(text, count)).toBe(Array.from(text).slice(0, count).join(''));
      }),
    );
  });

  it('shows where a quotation was cut', () => {
    expect(quote('🫠🫡🫥', 2)).toBe('"🫠🫡"…');
    expect(quote('🫠🫡', 2)).toBe('"🫠🫡"');
  });
});
