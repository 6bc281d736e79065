import { afterAll, describe, expect, it } from '@jest/globals';
import { formatName } from '../dialog/dialog-format.js';
import { readGgufTokenizer } from './gguf-vocabulary.js';
import {
  byteLevelVocabulary,
  ggufHead,
  tokenizerJson,
  vocabularyFolder,
  type Trained,
} from './test-vocabulary.js';
import { readTokenizerJson } from './tokenizer-json.js';

const folder = vocabularyFolder();
afterAll(() => {
  folder.remove();
});

const trained = byteLevelVocabulary(50);
/** The same tokens, with two ids changed for each other. */
const changed: Trained = { ...trained, tokens: [...trained.tokens.slice(2), ...trained.tokens.slice(0, 2)] };

const FILES = [
  {
    kind: 'tokenizer.json',
    read: readTokenizerJson,
    bytes: (vocabulary: Trained) =>
      JSON.stringify(tokenizerJson(vocabulary, { pre_tokenizer: { type: 'ByteLevel', use_regex: true } })),
  },
  {
    kind: 'model.gguf',
    read: readGgufTokenizer,
    bytes: ({ tokens, merges }: Trained) =>
      ggufHead({
        'tokenizer.ggml.model': 'gpt2',
        'tokenizer.ggml.pre': 'gpt-2',
        'tokenizer.ggml.tokens': tokens,
        'tokenizer.ggml.token_type': tokens.map(() => 1),
        'tokenizer.ggml.merges': merges.map((pair) => pair.join(' ')),
      }),
  },
];

describe.each(FILES)('the name of a format by a $kind', ({ kind, read, bytes }) => {
  const nameAt = (file: string, vocabulary: Trained) =>
    formatName('qwen3', read(folder.write(file, bytes(vocabulary))));

  it('is another when other content stands at the same path, as after a restart', () => {
    expect(nameAt(kind, changed)).not.toBe(nameAt(kind, trained));
  });

  it('is the same wherever the same content stands', () => {
    expect(nameAt(`there/model/${kind}`, trained)).toBe(nameAt(`here/model/${kind}`, trained));
  });
});
