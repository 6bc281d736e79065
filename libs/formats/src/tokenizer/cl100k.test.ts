import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createRequire } from 'node:module';
import { cl100k } from './cl100k.js';
import { readRankFile } from './ranks.js';

const { Tiktoken } = createRequire(import.meta.url)('tiktoken/lite') as {
  Tiktoken: new (
    ranks: string,
    specials: Record<string, number>,
    pattern: string,
  ) => { encode_ordinary(text: string): Uint32Array };
};

describe('cl100k', () => {
  const file = readRankFile('cl100k_base');
  const oracle = new Tiktoken(file.bpe_ranks, {}, file.pat_str);
  const tokenizer = cl100k();

  it('gives the ids of tiktoken', () => {
    const word = fc.constantFrom(
      ...[
        'hello',
        ' World',
        "don't",
        "I'LL",
        ' ',
        '\n\n',
        '\t',
        '123456',
        '٣',
        '한국어',
        ' 日本語',
        '😀',
        'e\u0301',
      ],
      ...['<|endoftext|>', '!=', ' {\n', '//', '\u00a0', '\u3000', 'ſ', "'ſ", '\ud800', '\0', 'ABCdef', '…'],
    );
    fc.assert(
      fc.property(fc.array(word, { maxLength: 12 }), (words) => {
        const text = words.join('');
        expect([...tokenizer.encode(text)]).toEqual([...oracle.encode_ordinary(text.toWellFormed())]);
        expect(tokenizer.decode(tokenizer.encode(text))).toBe(text.toWellFormed());
      }),
      { numRuns: 1000 },
    );
  });

  it('knows its control tokens by their text, and never makes one of text', () => {
    expect(tokenizer.controlId('<|endoftext|>')).toBe(100257);
    expect(tokenizer.controlId('<|start|>')).toBeUndefined();
    expect([...tokenizer.encode('<|endoftext|>')]).not.toContain(100257);
    expect(tokenizer.decode([100257])).toBe('<|endoftext|>');
  });
});
