import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { unicodeForm, type UnicodeForm } from './normalize.js';

function normalized(text: string, form: UnicodeForm): string {
  const steps = unicodeForm(text, form);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

describe('unicodeForm', () => {
  it('gives what normalising the whole gives, wherever it cuts', () => {
    const part = fc.constantFrom(
      'a',
      'é',
      'e\u0301\u0323',
      '\u1112\u1161\u11ab',
      '한',
      '漢字',
      '😀',
      '\u0b47\u0b3e',
      'ﬁ',
    );
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 8 }),
        fc.constantFrom<UnicodeForm>('NFC', 'NFD', 'NFKC', 'NFKD'),
        (parts, form) => {
          const text = parts.join('').repeat(Math.ceil(9_000 / parts.join('').length));
          expect(normalized(text, form)).toBe(text.normalize(form));
        },
      ),
      { numRuns: 100 },
    );
  });

  it('never hands a long run of marks over at once: sorting them takes quadratic time', () => {
    const normalize = jest.spyOn(String.prototype, 'normalize');
    try {
      normalized('\u0301'.repeat(30_000) + '\u0323'.repeat(30_000), 'NFC');
      const lengths = normalize.mock.contexts.map((given) => String(given).length);
      expect(Math.max(...lengths)).toBeLessThan(6_000);
      normalize.mockClear();
      expect(normalized('plain text\n'.repeat(1_000), 'NFC')).toHaveLength(11_000);
      expect(normalize).not.toHaveBeenCalled();
    } finally {
      normalize.mockRestore();
    }
  });
});
