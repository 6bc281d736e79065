import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** Helpers of the tests beside this file: small vocabularies, trained on a fixed text, as files. */

const CORPUS = [
  'The quick brown fox jumps over the lazy dog. The dog barks; the fox does not. ',
  'function add(a, b) {\n    return a + b;\n}\n\nconst total = add(12, 345);\n',
  'It\'s what they\'ve said: don\'t "quote" me. {"name": "add", "arguments": {"a": 1}}\n',
  '대한민국은 민주공화국이다. 한국어 문장은 띄어쓰기를 합니다. 日本語の文字。中文字符。',
  'naïve café, Größe, Привет мир. 😀👋🏾 e\u0301\n\n\n\t\tx  y   z\n',
].join('');

export interface Trained {
  tokens: string[];
  merges: [string, string][];
}

/** Trains `count` merges over pieces of text: the most frequent pair first, the smaller of equals. */
export function train(alphabet: readonly string[], pieces: readonly string[], count: number): Trained {
  const words = pieces.map((piece) => [...piece]);
  const tokens = [...new Set([...alphabet, ...words.flat()])];
  const merges: [string, string][] = [];
  while (merges.length < count) {
    const counts = new Map<string, number>();
    for (const word of words)
      for (let i = 0; i + 1 < word.length; i++) {
        const pair = `${word[i] ?? ''} ${word[i + 1] ?? ''}`;
        counts.set(pair, (counts.get(pair) ?? 0) + 1);
      }
    const [best] = [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
    if (best === undefined || best[1] < 2) break;
    const [left = '', right = ''] = best[0].split(' ');
    merges.push([left, right]);
    if (!tokens.includes(left + right)) tokens.push(left + right);
    for (const word of words)
      for (let i = 0; i + 1 < word.length; i++)
        if (word[i] === left && word[i + 1] === right) word.splice(i, 2, left + right);
  }
  return { tokens, merges };
}

const ALPHABET = Array.from({ length: 256 }, (_, byte) => byte);
let next = 0x100;
const CHAR_OF = ALPHABET.map((byte) =>
  (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad)
    ? String.fromCharCode(byte)
    : String.fromCharCode(next++),
);

/** A byte-level vocabulary, its pieces words with the space before them. */
export function byteLevelVocabulary(count = 300): Trained {
  const pieces = CORPUS.match(/ ?[^\s]+|\s+/g) ?? [];
  return train(
    CHAR_OF,
    pieces.map((piece) => [...Buffer.from(piece)].map((byte) => CHAR_OF[byte]).join('')),
    count,
  );
}

/** A vocabulary as SentencePiece has it: characters, U+2581 for a space, tokens of bytes. */
export function sentencePieceVocabulary(count = 300): Trained {
  const pieces = (CORPUS.match(/ ?[^ ]+/g) ?? []).map((piece) => piece.replaceAll(' ', '\u2581'));
  const bytes = ALPHABET.map((byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
  const { tokens, merges } = train(
    [],
    pieces.filter((piece) => !/[^\x20-\x7e\u2581]/.test(piece)),
    count,
  );
  return { tokens: ['<unk>', '<s>', '</s>', ...bytes, ...tokens], merges };
}

/** A tokenizer.json as an object; `fields` take the place of the top-level ones, `model` of the model's. */
export function tokenizerJson(
  { tokens, merges }: Trained,
  fields: Record<string, unknown>,
  model: Record<string, unknown> = {},
): Record<string, unknown> {
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    decoder: null,
    ...fields,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges,
      ...model,
    },
  };
}

/** An entry of `added_tokens`. */
export function added(id: number, content: string, special: boolean): Record<string, unknown> {
  return { id, content, special, single_word: false, lstrip: false, rstrip: false, normalized: false };
}

/** Files of a test, in a folder that `remove` takes away. */
export function vocabularyFolder(): {
  write(name: string, content: string | Uint8Array): string;
  remove(): void;
} {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-vocabulary-'));
  return {
    write: (name, content) => {
      const path = join(folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
      return path;
    },
    remove: () => {
      rmSync(folder, { recursive: true });
    },
  };
}

/** The head of a GGUF file: metadata by key; lists of numbers are of 32-bit integers, or floats for scores. */
export function ggufHead(metadata: Record<string, string | number | boolean | string[] | number[]>): Buffer {
  const chunks: Buffer[] = [];
  const u32 = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    chunks.push(bytes);
  };
  const u64 = (value: number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(value));
    chunks.push(bytes);
  };
  const f32 = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeFloatLE(value);
    chunks.push(bytes);
  };
  const string = (value: string) => {
    const bytes = Buffer.from(value);
    u64(bytes.length);
    chunks.push(bytes);
  };
  chunks.push(Buffer.from('GGUF'));
  u32(3);
  u64(0);
  u64(Object.keys(metadata).length);
  for (const [key, value] of Object.entries(metadata)) {
    string(key);
    if (typeof value === 'string') {
      u32(8);
      string(value);
    } else if (typeof value === 'boolean') {
      u32(7);
      chunks.push(Buffer.of(value ? 1 : 0));
    } else if (typeof value === 'number') {
      u32(4);
      u32(value);
    } else {
      u32(9);
      const isText = typeof value[0] === 'string';
      const isFloat = key.endsWith('scores');
      u32(isText ? 8 : isFloat ? 6 : 5);
      u64(value.length);
      for (const entry of value) {
        if (typeof entry === 'string') string(entry);
        else if (isFloat) f32(entry);
        else u32(entry);
      }
    }
  }
  return Buffer.concat(chunks);
}
