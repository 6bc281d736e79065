import { describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { CharBits } from './char-set.js';
import { PatternCutter, type SplitBehavior } from './cutting.js';
import { GGUF_SPLITS } from './gguf-splits.js';
import { SplitMatcher } from './split-matcher.js';
import { parseSplitPattern, UnsupportedPatternError } from './split-pattern.js';
import { O200K_PATTERN, pieceEnd } from './split.js';
import { GPT2_PATTERN } from './tokenizer-json-stages.js';

function cutter(patterns: readonly string[], behavior: SplitBehavior = 'Isolated'): PatternCutter {
  return new PatternCutter(
    patterns.map((pattern) => ({ matcher: new SplitMatcher(parseSplitPattern(pattern)), behavior })),
  );
}

function cut(text: string, by: PatternCutter): string[] {
  const cursor = by.cursor(text);
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    const end = cursor.pieceEnd(at);
    pieces.push(text.slice(at, end));
    at = end;
  }
  return pieces;
}

const text = fc
  .array(
    fc.constantFrom(
      ...[
        "'s",
        "'LL",
        "'",
        'a',
        'B',
        'ab',
        'ABC',
        'ſ',
        'é',
        'e\u0301',
        '\u0301',
        'ʰ',
        '한',
        '漢',
        'カ',
        '1',
        '23',
      ],
      ...[
        ' ',
        '  ',
        '\n',
        '\r\n',
        '\t',
        '\u00a0',
        '\u0085',
        '\u3000',
        '.',
        '//',
        '/',
        '…',
        '$',
        '😀',
        '𝐀',
        '_',
      ],
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));

describe('SplitMatcher', () => {
  it('cuts by the pattern of o200k as its own scanner does', () => {
    const byPattern = cutter([O200K_PATTERN]);
    fc.assert(
      fc.property(text, (given) => {
        const scanned: string[] = [];
        for (let at = 0; at < given.length;) {
          const end = pieceEnd(given, at);
          scanned.push(given.slice(at, end));
          at = end;
        }
        expect(cut(given, byPattern)).toEqual(scanned);
      }),
      { numRuns: 2000 },
    );
  });

  it('cuts as a RegExp does where JavaScript has the same', () => {
    const patterns = [
      GPT2_PATTERN,
      String.raw`[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
      String.raw`[!-/:-@][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
    ];
    for (const pattern of patterns) {
      const ours = cutter([pattern]);
      const theirs = new RegExp(
        pattern
          .replaceAll(String.raw`\s`, String.raw`\p{White_Space}`)
          .replaceAll(String.raw`\S`, String.raw`\P{White_Space}`),
        'gu',
      );
      fc.assert(
        fc.property(text, (given) => {
          const expected: string[] = [];
          let at = 0;
          for (const match of given.matchAll(theirs)) {
            if (match.index > at) expected.push(given.slice(at, match.index));
            expected.push(match[0]);
            at = match.index + match[0].length;
          }
          if (at < given.length) expected.push(given.slice(at));
          expect(cut(given, ours)).toEqual(expected);
        }),
        { numRuns: 500 },
      );
    }
  });

  it.each<[SplitBehavior, string[]]>([
    ['Isolated', ['a', ' ', ' ', 'b', ' ', 'c']],
    ['Contiguous', ['a', '  ', 'b', ' ', 'c']],
    ['MergedWithPrevious', ['a ', ' ', 'b ', 'c']],
    ['MergedWithNext', ['a', ' ', ' b', ' c']],
  ])('does with matches what %s says', (behavior, pieces) => {
    expect(cut('a  b c', cutter([' '], behavior))).toEqual(pieces);
  });

  it('cuts by one pattern after the other, each within the pieces of the one before', () => {
    const deepseek = cutter(GGUF_SPLITS['deepseek-v3']?.patterns ?? []);
    expect(cut('x12345 漢字カナ(foo_bar)  \n y', deepseek)).toEqual([
      'x',
      '123',
      '45',
      ' ',
      '漢字カナ',
      '(foo',
      '_bar',
      ')',
      '  \n',
      ' y',
    ]);
    expect(cut("It's 12", cutter(GGUF_SPLITS.smollm?.patterns ?? []))).toEqual(['It', "'s", ' ', '1', '2']);
    expect(cut('漢字ABCdef漢', cutter(GGUF_SPLITS['kimi-k2']?.patterns ?? []))).toEqual([
      '漢字',
      'ABCdef',
      '漢',
    ]);
  });

  it.each(Object.entries(GGUF_SPLITS).map(([name, split]) => [name, split?.patterns ?? []] as const))(
    'looks at each character a bounded number of times: %s',
    (_, patterns) => {
      const by = cutter(patterns);
      const of = jest.spyOn(CharBits.prototype, 'of');
      try {
        for (const unit of [
          'a',
          'A',
          ' ',
          '\n',
          ' \n',
          '1',
          '.',
          "'",
          '가',
          '漢',
          '\u0301',
          'e\u0301',
          '😀',
          '\ud800',
        ]) {
          const given = unit.repeat(4_000 / unit.length);
          cut(given, by);
          of.mockClear();
          cut(`${given}x`, by);
          expect(of.mock.calls.length).toBeLessThan(patterns.length * 16 * given.length);
        }
      } finally {
        of.mockRestore();
      }
    },
  );

  it('stays linear where a RegExp would not: each run that failed is remembered', () => {
    const by = cutter([String.raw`a*b|a|\s+$|\s`]);
    const of = jest.spyOn(CharBits.prototype, 'of');
    try {
      expect(cut('a'.repeat(20_000), by)).toHaveLength(20_000);
      expect(cut(`${' '.repeat(20_000)}x`, by)).toHaveLength(20_001);
      expect(of.mock.calls.length).toBeLessThan(1_000_000);
    } finally {
      of.mockRestore();
    }
  });
});

describe('parseSplitPattern', () => {
  it.each([
    ['a lazy repetition', 'a+?'],
    ['a look behind', '(?<=a)b'],
    ['a repeated group', '(?:ab)+'],
    ['an alternative that matches nothing', 'a|b*'],
    ['two repetitions that may have to be retried', 'a*b*c'],
    ['a property that does not exist', '\\p{Nothing}'],
    ['a word boundary', '\\bfoo'],
    ['any character', 'a.c'],
    ['a class that does not end', '[ab'],
    ['looking at several characters', 'a(?!bc)'],
  ])('refuses %s', (_, pattern) => {
    expect(() => parseSplitPattern(pattern)).toThrow(UnsupportedPatternError);
  });
});
