import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createRequire } from 'node:module';
import { GGUF_SPLITS } from './gguf-splits.js';
import { readGgufMetadata } from './gguf-metadata.js';
import {
  added,
  byteLevelVocabulary,
  ggufHead,
  sentencePieceVocabulary,
  tokenizerJson,
  vocabularyFolder,
  type Trained,
} from './test-vocabulary.js';
import { GPT2_PATTERN } from './tokenizer-json-stages.js';
import { type Tokenizer } from './types.js';
import { openTokenizer } from './vocabularies.js';
import { tokenizerFromFile } from './vocabulary-file.js';

const { Tokenizer: Oracle } = createRequire(import.meta.url)('@huggingface/tokenizers') as {
  Tokenizer: new (
    file: unknown,
    config: unknown,
  ) => { encode(text: string, options: { add_special_tokens: false }): { ids: number[] } };
};

const folder = vocabularyFolder();
afterAll(() => {
  folder.remove();
});
let files = 0;
const load = (json: unknown): Tokenizer =>
  tokenizerFromFile(folder.write(`${++files}.json`, JSON.stringify(json)));

const trained = byteLevelVocabulary();
const pieces = sentencePieceVocabulary();
const splitBy = (patterns: readonly string[]) => ({
  type: 'Sequence',
  pretokenizers: [
    ...patterns.map((Regex) => ({ type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false })),
    { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false },
  ],
});
const ofGguf = (pre: string) => splitBy(GGUF_SPLITS[pre]?.patterns ?? []);

const kinds: Record<string, [Trained, Record<string, unknown>, Record<string, unknown>?]> = {
  'Qwen: NFC and single digits': [trained, { normalizer: { type: 'NFC' }, pre_tokenizer: ofGguf('qwen2') }],
  'Llama 3: ignore_merges': [trained, { pre_tokenizer: ofGguf('llama3') }, { ignore_merges: true }],
  'DeepSeek: three splits': [
    trained,
    { normalizer: { type: 'Sequence', normalizers: [] }, pre_tokenizer: ofGguf('deepseek-v3') },
  ],
  'GPT-2: the split of ByteLevel itself, merges as strings': [
    trained,
    { pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true } },
    { merges: trained.merges.map((pair) => pair.join(' ')) },
  ],
  'SmolLM2: digits one by one': [
    trained,
    {
      pre_tokenizer: {
        type: 'Sequence',
        pretokenizers: [
          { type: 'Digits', individual_digits: true },
          { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
        ],
      },
    },
  ],
  'Gemma: spaces replaced': [
    pieces,
    {
      normalizer: { type: 'Replace', pattern: { String: ' ' }, content: '\u2581' },
      pre_tokenizer: {
        type: 'Split',
        pattern: { String: ' ' },
        behavior: 'MergedWithPrevious',
        invert: false,
      },
    },
    { byte_fallback: true, unk_token: '<unk>', fuse_unk: true },
  ],
  'Llama 2: spaces replaced, one before the text': [
    pieces,
    {
      normalizer: {
        type: 'Sequence',
        normalizers: [
          { type: 'Prepend', prepend: '\u2581' },
          { type: 'Replace', pattern: { String: ' ' }, content: '\u2581' },
        ],
      },
    },
    { byte_fallback: true, unk_token: '<unk>', fuse_unk: true },
  ],
  'Metaspace that cuts at every space': [
    pieces,
    { pre_tokenizer: { type: 'Metaspace', replacement: '\u2581', prepend_scheme: 'never', split: true } },
    { byte_fallback: true, unk_token: '<unk>', fuse_unk: true },
  ],
};

const text = fc
  .array(
    fc.constantFrom(
      ...[
        'the',
        ' The',
        ' fox',
        'function',
        ' add',
        "'s",
        "don't",
        '12345',
        ' 7',
        '{"name": ',
        '"a": 1}',
        '();\n',
      ],
      ...[
        ' ',
        '  ',
        '    ',
        '\n',
        '\n\n\n',
        '\t',
        '대한',
        '민국',
        '日本語',
        '中文',
        '😀',
        '👋🏾',
        'é',
        'e\u0301',
        'Größe',
      ],
      ...['<tool_call>', '<|im_end|>', '</s>', '<0x0A>', '<', '|>', 'x', 'Q', '\0', '~'],
    ),
    { maxLength: 14 },
  )
  .map((parts) => parts.join(''));

describe.each(Object.entries(kinds))('tokenizer.json of %s', (_, [vocabulary, fields, model]) => {
  const json = tokenizerJson(vocabulary, fields, model);
  const oracle = new Oracle(json, {});
  const tokenizer = load(json);

  it('gives the ids of the reference', () => {
    fc.assert(
      fc.property(text, (given) => {
        expect([...tokenizer.encode(given)]).toEqual(oracle.encode(given, { add_special_tokens: false }).ids);
      }),
      { numRuns: 400 },
    );
  });

  it('gives the text back', () => {
    const isNfc = fields.normalizer !== undefined && JSON.stringify(fields.normalizer).includes('NFC');
    fc.assert(
      fc.property(text, (given) => {
        expect(tokenizer.decode(tokenizer.encode(given))).toBe(isNfc ? given.normalize('NFC') : given);
      }),
      { numRuns: 200 },
    );
  });
});

describe('added tokens', () => {
  const first = trained.tokens.length;
  const tokenizer = load(
    tokenizerJson(trained, {
      added_tokens: [
        added(first, '<|im_end|>', true),
        { ...added(first + 1, '<tool_call>', false), rstrip: true },
        added(first + 2, '\n\n', false),
        added(first + 3, '\n\n\n\n', false),
        added(first + 9, '<｜tool▁call▁begin｜>', false),
      ],
      pre_tokenizer: ofGguf('qwen2'),
    }),
  );

  it('are control tokens by their text, special or not, and text never becomes one', () => {
    expect(
      ['<|im_end|>', '<tool_call>', '<｜tool▁call▁begin｜>', 'the'].map((literal) =>
        tokenizer.controlId(literal),
      ),
    ).toEqual([first, first + 1, first + 9, undefined]);
    expect(tokenizer.decode([first + 1, first + 9])).toBe('<tool_call><｜tool▁call▁begin｜>');
    expect([first, first + 1].map((id) => tokenizer.strips?.(id))).toEqual([
      undefined,
      { left: false, right: true },
    ]);
    expect(tokenizer.vocabularySize).toBe(first + 10);
    fc.assert(
      fc.property(text, (given) => {
        expect(tokenizer.encode(given).some((id) => id === first || id === first + 1 || id > first + 3)).toBe(
          false,
        );
      }),
    );
  });

  it('of white space alone are text, the longest first', () => {
    const ids = [...tokenizer.encode('a\n\n\n\n\n\nb')];
    expect(ids.slice(1, -1)).toEqual([first + 3, first + 2]);
    expect(tokenizer.decode(ids)).toBe('a\n\n\n\n\n\nb');
    expect(tokenizer.encode('\n'.repeat(400_000))).toHaveLength(100_000);
  });
});

describe('a token that merging does not arrive at', () => {
  const tokens = [...trained.tokens, 'ĠzqĠzq'];
  const fields = { pre_tokenizer: { type: 'Split', pattern: { Regex: '[^x]+' }, behavior: 'Isolated' } };
  const whole = {
    ...fields,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [fields.pre_tokenizer, { type: 'ByteLevel', add_prefix_space: false, use_regex: false }],
    },
  };

  it('is used for a piece only when the vocabulary ignores merges', () => {
    const last = tokens.length - 1;
    expect([...load(tokenizerJson({ ...trained, tokens }, whole)).encode(' zq zq')]).not.toContain(last);
    const ignoring = load(tokenizerJson({ ...trained, tokens }, whole, { ignore_merges: true }));
    expect([...ignoring.encode(' zq zq')]).toEqual([last]);
  });
});

describe('hostile text', () => {
  const byteLevel = load(
    tokenizerJson(trained, { normalizer: { type: 'NFC' }, pre_tokenizer: ofGguf('qwen2') }),
  );
  const sentencePiece = load(
    tokenizerJson(
      ...(kinds['Gemma: spaces replaced'] as [Trained, Record<string, unknown>, Record<string, unknown>]),
    ),
  );

  it.each(['a', ' ', '\n', '😀', '가', '\u0301\u0323', '\ud800', 'the '])(
    'of one thing is encoded whole, in steps: %j',
    (unit) => {
      const given = unit.repeat(100_000 / unit.length);
      for (const tokenizer of [byteLevel, sentencePiece]) {
        expect(tokenizer.decode(tokenizer.encode(given)).length).toBe(given.toWellFormed().length);
      }
    },
  );
});

describe('vocabulary in a GGUF file', () => {
  const types = trained.tokens.map(() => 1);
  const head = (fields: Parameters<typeof ggufHead>[0]) => folder.write(`${++files}.gguf`, ggufHead(fields));
  const path = head({
    'general.name': 'tiny',
    'llama.block_count': 3,
    'tokenizer.ggml.model': 'gpt2',
    'tokenizer.ggml.pre': 'smollm',
    'tokenizer.ggml.tokens': [...trained.tokens, '<|im_start|>', '<tool_call>', '\n\n'],
    'tokenizer.ggml.token_type': [...types, 3, 4, 4],
    'tokenizer.ggml.merges': trained.merges.map((pair) => pair.join(' ')),
    'tokenizer.ggml.add_bos_token': false,
    'tokenizer.ggml.eos_token_id': trained.tokens.length,
  });

  it('gives the ids of the same one in a tokenizer.json', () => {
    const tokenizer = tokenizerFromFile(path);
    const same = load(
      tokenizerJson(trained, {
        added_tokens: [added(trained.tokens.length + 2, '\n\n', false)],
        pre_tokenizer: splitBy([String.raw`\p{N}`, GPT2_PATTERN]),
      }),
    );
    fc.assert(
      fc.property(text, (given) => {
        expect(tokenizer.encode(given)).toEqual(same.encode(given));
      }),
    );
    expect(tokenizer.controlId('<|im_start|>')).toBe(trained.tokens.length);
    expect(tokenizer.controlId('<tool_call>')).toBe(trained.tokens.length + 1);
    expect(tokenizer.controlId('\n\n')).toBeUndefined();
    expect(tokenizerFromFile(path)).toBe(tokenizer);
    expect(openTokenizer(tokenizer.source)).toBe(tokenizer);
  });

  it('of the SentencePiece kind joins by scores', () => {
    const { tokens, merges } = pieces;
    const made = new Map(merges.map(([left, right], rank) => [left + right, rank]));
    const spm = tokenizerFromFile(
      head({
        'tokenizer.ggml.model': 'llama',
        'tokenizer.ggml.tokens': tokens,
        'tokenizer.ggml.token_type': tokens.map((token, id) =>
          id === 0 ? 2 : id < 3 ? 3 : /^<0x..>$/.test(token) ? 6 : 1,
        ),
        'tokenizer.ggml.scores': tokens.map((token) => -(made.get(token) ?? 10_000)),
        'tokenizer.ggml.add_space_prefix': false,
      }),
    );
    const same = load(
      tokenizerJson(
        ...(kinds['Gemma: spaces replaced'] as [Trained, Record<string, unknown>, Record<string, unknown>]),
      ),
    );
    fc.assert(
      fc.property(text, (given) => {
        expect([...spm.encode(given)]).toEqual([...same.encode(given)]);
      }),
    );
    expect(spm.controlId('</s>')).toBe(2);
    expect([...spm.encode('</s>')]).not.toContain(2);
  });

  it('has its metadata by key', () => {
    const metadata = readGgufMetadata(path, (key) => !key.startsWith('tokenizer.ggml.t'));
    expect(metadata.get('general.name')).toBe('tiny');
    expect(metadata.get('llama.block_count')).toBe(3);
    expect(metadata.get('tokenizer.ggml.add_bos_token')).toBe(false);
    expect(metadata.has('tokenizer.ggml.tokens')).toBe(false);
  });

  it('is refused when it breaks off, or claims more than there is', () => {
    const whole = ggufHead({ 'tokenizer.ggml.model': 'gpt2' });
    expect(() => tokenizerFromFile(folder.write('cut.gguf', whole.subarray(0, 40)))).toThrow(
      /cut\.gguf.*breaks off/,
    );
    const claims = Buffer.from(whole);
    claims.writeBigUInt64LE(2n ** 60n, 24);
    expect(() => tokenizerFromFile(folder.write('claims.gguf', claims))).toThrow(/claims\.gguf.*breaks off/);
    expect(() => tokenizerFromFile(folder.write('old.gguf', Buffer.from('GGUF\x01\0\0\0')))).toThrow(
      'version 1',
    );
  });
});

describe('what is not supported', () => {
  const byteLevel = ofGguf('qwen2');
  it.each<[string, unknown]>([
    ['normalizer', tokenizerJson(trained, { normalizer: { type: 'Lowercase' }, pre_tokenizer: byteLevel })],
    [
      'normalizer.normalizers[1]',
      tokenizerJson(trained, {
        normalizer: { type: 'Sequence', normalizers: [{ type: 'NFC' }, { type: 'Strip' }] },
        pre_tokenizer: byteLevel,
      }),
    ],
    [
      'pre_tokenizer.pretokenizers[0].pattern',
      tokenizerJson(trained, { pre_tokenizer: splitBy(['(?<=x)y']) }),
    ],
    ['pre_tokenizer', tokenizerJson(trained, { pre_tokenizer: { type: 'BertPreTokenizer' } })],
    [
      'pre_tokenizer.add_prefix_space',
      tokenizerJson(trained, { pre_tokenizer: { type: 'ByteLevel', add_prefix_space: true } }),
    ],
    ['model.type', tokenizerJson(trained, { pre_tokenizer: byteLevel }, { type: 'Unigram' })],
    ['model.byte_fallback', tokenizerJson(trained, {})],
    ['model.merges', tokenizerJson(trained, { pre_tokenizer: byteLevel }, { merges: [['a', 'nowhere']] })],
    ['model.merges', tokenizerJson(trained, { pre_tokenizer: byteLevel }, { merges: ['ab'] })],
    ['model.vocab', tokenizerJson(trained, { pre_tokenizer: byteLevel }, { vocab: { a: -1 } })],
    ['model.vocab', tokenizerJson({ tokens: ['<0x00>', 'a'], merges: [] }, {}, { byte_fallback: true })],
  ])('names the file and the field %s', (field, json) => {
    expect(() => load(json)).toThrow(
      new RegExp(`Vocabulary .*\\.json, ${field.replace(/[[\]]/g, '\\$&')}: `),
    );
  });

  it('names keys of GGUF files', () => {
    const refuse = (fields: Parameters<typeof ggufHead>[0]) => () =>
      tokenizerFromFile(folder.write(`${++files}.gguf`, ggufHead(fields)));
    expect(refuse({ 'tokenizer.ggml.model': 'bert' })).toThrow('tokenizer.ggml.model: bert is not supported');
    expect(refuse({ 'tokenizer.ggml.model': 'gpt2', 'tokenizer.ggml.pre': 'constructor' })).toThrow(
      'constructor is not known',
    );
    expect(refuse({ 'tokenizer.ggml.model': 'llama', 'tokenizer.ggml.tokens': ['a'] })).toThrow(
      'tokenizer.ggml.token_type',
    );
  });

  it('names a file that is not there or no JSON', () => {
    expect(() => tokenizerFromFile('/nowhere/tokenizer.json')).toThrow('Vocabulary /nowhere/tokenizer.json');
    expect(() => tokenizerFromFile(folder.write('broken.json', '{'))).toThrow(/broken\.json: /);
  });
});
