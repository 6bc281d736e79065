import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createRequire } from 'node:module';
import { HARMONY, o200kHarmony } from './o200k-harmony.js';
import { readRankFile } from './ranks.js';
import { O200K_PATTERN } from './split.js';

interface Oracle {
  encode_ordinary(text: string): Uint32Array;
}
const { Tiktoken } = createRequire(import.meta.url)('tiktoken/lite') as {
  Tiktoken: new (ranks: string, specials: Record<string, number>, pattern: string) => Oracle;
};
const data = readRankFile('o200k_base');
const oracle = new Tiktoken(data.bpe_ranks, {}, data.pat_str);
const tokenizer = o200kHarmony();

/** Characters that Unicode 17 added: Node may know them, and the oracle was built before. */
const addedLater = [
  [0x88f, 0x88f],
  [0xc5c, 0xc5c],
  [0xcdc, 0xcdc],
  [0x1acf, 0x1add],
  [0x1ae0, 0x1aeb],
  [0xa7ce, 0xa7cf],
  [0xa7d2, 0xa7d2],
  [0xa7d4, 0xa7d4],
  [0xa7f1, 0xa7f1],
  [0x10940, 0x10959],
  [0x10ec5, 0x10ec7],
  [0x10efa, 0x10efb],
  [0x11b60, 0x11b67],
  [0x11db0, 0x11ddb],
  [0x11de0, 0x11de9],
  [0x16ea0, 0x16eb8],
  [0x16ebb, 0x16ed3],
  [0x16ff2, 0x16ff6],
  [0x187f8, 0x187ff],
  [0x18d09, 0x18d1e],
  [0x18d80, 0x18df2],
  [0x1e6c0, 0x1e6de],
  [0x1e6e0, 0x1e6f5],
  [0x1e6fe, 0x1e6ff],
];
/** The character, or nothing where the two may not know it alike. */
function known(char: string): string {
  const codePoint = char.codePointAt(0) ?? 0;
  return addedLater.some(([from = 0, to = 0]) => codePoint >= from && codePoint <= to) ? '' : char;
}

/** Differences between our ids and tiktoken's: texts with both lists. */
function differences(texts: Iterable<string>): unknown[] {
  const found: unknown[] = [];
  for (const text of texts) {
    const ours = tokenizer.encode(text);
    const theirs = oracle.encode_ordinary(text.toWellFormed());
    if (ours.length !== theirs.length || ours.some((id, i) => id !== theirs[i]))
      found.push([text, ours, theirs]);
  }
  return found;
}

const fragments = [
  ...[
    'a',
    'hello',
    'World',
    'HELLO',
    'McDonald',
    'iPhone',
    'xY',
    'ß',
    'é',
    'e\u0301',
    '\u0301',
    'ǅ',
    'ʰ',
    'ı',
    'ſ',
  ],
  ...["'s", "'T", "'Re", "'vE", "'m", "'LL", "'d", "'ſ", "'l", "'", '’s', "don't", "I'LLs"],
  ...[
    ' ',
    '  ',
    '   ',
    '\t',
    '\n',
    '\r\n',
    '\r',
    '\n\n',
    '\u00a0',
    '\u0085',
    '\ufeff',
    '\u2028',
    '\u3000',
    '\v',
  ],
  ...[
    '1',
    '12',
    '123',
    '4567',
    '٣',
    'Ⅷ',
    '½',
    '𝟙',
    '!',
    '...',
    '//',
    '/',
    '{',
    '}',
    '=>',
    '_',
    '–',
    '$',
    '^^',
    '\0',
  ],
  ...[
    '<|start|>',
    '<|end|>',
    '<|endoftext|>',
    '<|',
    '|>',
    '한',
    '국어',
    '日本',
    '語',
    'العربية',
    'हिन्दी',
    'ไทย',
  ],
  ...['😀', '👋🏾', '👨‍👩‍👧‍👦', '🇺🇸', '\u200d', '\ufe0f', '𝐀', '𐐀', '𐐨', '\ud800', '\udc00', '\ufffd', '\u200b'],
];

/** `count` texts of random fragments, the same in every run. */
function* fuzz(count: number): Generator<string> {
  let state = 20_240_601;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * limit);
  };
  for (let i = 0; i < count; i++) {
    let text = '';
    for (let parts = 1 + below(14); parts > 0; parts--) {
      const kind = below(100);
      if (kind < 85) text += fragments[below(fragments.length)] ?? '';
      else text += known(String.fromCodePoint(below(kind < 96 ? 0x3100 : 0x20000)));
    }
    yield text;
  }
}

describe('o200k_harmony encode', () => {
  it('splits by the pattern that the rank data asks for', () => {
    expect(O200K_PATTERN).toBe(data.pat_str);
  });

  it('agrees with tiktoken on 20,000 random texts', () => {
    expect(differences(fuzz(20_000))).toEqual([]);
  });

  it('agrees with tiktoken on every character in the positions where its class matters', () => {
    const classes = [/\p{Lu}/u, /\p{Lt}/u, /\p{Ll}/u, /\p{Lm}/u, /\p{Lo}/u, /\p{M}/u, /\p{N}/u, /\s/u];
    const classOf = (char: string) => classes.findIndex((pattern) => pattern.test(char));
    function* texts(): Generator<string> {
      let last = { char: '', of: -2 };
      for (let codePoint = 0; codePoint < 0x1fb00; codePoint++) {
        if (codePoint >= 0xd800 && codePoint <= 0xdfff) continue;
        const char = String.fromCodePoint(codePoint);
        if (known(char) === '') continue;
        // Where one class begins and another ends, and some within.
        const here = { char, of: classOf(char) };
        if (here.of !== last.of || codePoint % 8 === 0) {
          for (const each of new Set([last.char, char])) yield `a${each}B ${each}b${each}1${each}\n${each}'s`;
        }
        last = here;
      }
    }
    expect(differences(texts())).toEqual([]);
  });

  it('agrees with tiktoken on long pieces, which merge by a heap', () => {
    const texts = ['a', 'ab', 'the', '=', '-=', '한', '😀', ' ', '\n', 'e\u0301', 'aA', '\0'].flatMap(
      (unit) => [95, 96, 97, 98, 500, 1503].map((count) => unit.repeat(count)),
    );
    expect(differences(texts)).toEqual([]);
    const letters = fc.string({
      unit: fc.constantFrom('a', 'b', 'e', 't', 's', 'ö'),
      minLength: 90,
      maxLength: 400,
    });
    fc.assert(fc.property(letters, (text) => differences([text]).length === 0));
  });

  it('never makes a control token of text', () => {
    expect([...tokenizer.encode('<|start|>')]).toEqual([27, 91, 5236, 91, 29]);
    expect([...tokenizer.encode('hello world')]).toEqual([24912, 2375]);
    const literals = Array.from({ length: 1090 }, (_, i) => tokenizer.decode([199_998 + i])).join('');
    expect(Math.max(...tokenizer.encode(literals))).toBeLessThan(HARMONY.startOfText);
  });

  it('reads a lone surrogate as U+FFFD', () => {
    expect(tokenizer.encode('a\ud83d b\udc00')).toEqual(tokenizer.encode('a\ufffd b\ufffd'));
  });

  it('gives the same ids when the pieces come from its cache', () => {
    const text = [...fuzz(50)].join(' ');
    expect(tokenizer.encode(text)).toEqual(tokenizer.encode(text));
    expect(tokenizer.encode('')).toEqual(new Int32Array(0));
  });
});

describe('o200k_harmony ids', () => {
  it('names the control tokens and reserves the rest', () => {
    expect(tokenizer.vocabularySize).toBe(201_088);
    expect(tokenizer.decode(Object.values(HARMONY))).toBe(
      '<|startoftext|><|endoftext|><|return|><|constrain|><|channel|><|start|><|end|><|message|><|call|><|reserved_200013|>',
    );
    expect(tokenizer.decode([200_000, 200_018, 201_087])).toBe(
      '<|reserved_200000|><|reserved_200018|><|reserved_201087|>',
    );
    expect(tokenizer.bytes(HARMONY.call)).toEqual(new TextEncoder().encode('<|call|>'));
  });

  it('has no bytes for unknown ids', () => {
    for (const id of [-1, 201_088, 1e9]) {
      expect(tokenizer.bytes(id)).toHaveLength(0);
      expect(tokenizer.decode([24912, id, 2375])).toBe('hello world');
    }
  });

  it('decodes what it encoded', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
      }),
    );
  });

  it('is built once', () => {
    expect(o200kHarmony()).toBe(tokenizer);
  });
});
