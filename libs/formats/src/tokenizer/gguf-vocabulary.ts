import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { BytePairTokenizer } from './byte-pair-tokenizer.js';
import { PatternCutter, SpaceCutter } from './cutting.js';
import { readGgufMetadata, type GgufValue } from './gguf-metadata.js';
import { GGUF_SPLITS } from './gguf-splits.js';
import { ScoreJoins } from './joins.js';
import { pairJoins } from './pair-list.js';
import { tokenList } from './token-list.js';
import { stage, UnsupportedField } from './tokenizer-json-stages.js';
import { type SteppedTokenizer } from './types.js';
import { VocabularyError } from './vocabulary-error.js';

const PREFIX = 'tokenizer.ggml.';

/** Values of `tokenizer.ggml.token_type`. */
const TYPE = { normal: 1, unknown: 2, control: 3, userDefined: 4, unused: 5, byte: 6 } as const;

type Metadata = ReadonlyMap<string, GgufValue>;

/**
 * The byte-pair vocabulary in a GGUF file: byte-level with merges (model `gpt2`), or by scores as SentencePiece has it
 * (model `llama`). Control and user-defined tokens are control tokens, but for user-defined ones of white space alone.
 * @param path absolute
 * @throws VocabularyError, naming the key, when the file cannot be read or is of a kind that is not supported.
 */
export function readGgufTokenizer(path: string): SteppedTokenizer {
  const metadata = readGgufMetadata(path, (key) => key.startsWith(PREFIX));
  try {
    const model = metadata.get(`${PREFIX}model`);
    if (model === 'gpt2') return byteLevel(path, metadata);
    if (model === 'llama') return sentencePiece(path, metadata);
    throw new UnsupportedField(`${PREFIX}model`, `${String(model)} is not supported, only gpt2 and llama`);
  } catch (error) {
    if (error instanceof UnsupportedField) throw new VocabularyError(path, error.field, error.message);
    throw error;
  }
}

function byteLevel(path: string, metadata: Metadata): SteppedTokenizer {
  const name = metadata.get(`${PREFIX}pre`);
  const split = typeof name === 'string' && Object.hasOwn(GGUF_SPLITS, name) ? GGUF_SPLITS[name] : undefined;
  if (split === undefined) throw new UnsupportedField(`${PREFIX}pre`, `${String(name)} is not known`);
  const tokens = strings(metadata, 'tokens');
  const { controls, blanks } = special(tokens, numbers(metadata, 'token_type', tokens.length));
  const isText = (id: number) => !controls.has(id);
  const list = tokenList(tokens, 'byteLevel', isText);
  const idOf = new Map(tokens.map((token, id) => [token, id]));
  return new BytePairTokenizer({
    name: basename(path),
    source: path,
    fingerprint: fingerprintOf(metadata),
    table: list.table,
    joins: merges(metadata, idOf, isText),
    controls,
    blanks,
    cutter: new PatternCutter(split.patterns.map((pattern) => stage(pattern, 'Isolated', `${PREFIX}pre`))),
    piecesAreTokens: split.piecesAreTokens === true,
    form: split.form,
  });
}

function merges(metadata: Metadata, idOf: ReadonlyMap<string, number>, isText: (id: number) => boolean) {
  try {
    return pairJoins(strings(metadata, 'merges'), idOf, isText);
  } catch (error) {
    if (error instanceof RangeError) throw new UnsupportedField(`${PREFIX}merges`, error.message);
    throw error;
  }
}

function sentencePiece(path: string, metadata: Metadata): SteppedTokenizer {
  const tokens = strings(metadata, 'tokens');
  const types = numbers(metadata, 'token_type', tokens.length);
  const { controls, blanks } = special(tokens, types);
  const list = tokenList(tokens, 'sentencePiece', (id) => !controls.has(id) && types[id] !== TYPE.unused);
  const { table, byteFallback } = list;
  if (byteFallback?.includes(-1) === true)
    throw new UnsupportedField(`${PREFIX}tokens`, 'it lacks tokens of bytes, as <0x0A>');
  return new BytePairTokenizer({
    name: basename(path),
    source: path,
    fingerprint: fingerprintOf(metadata),
    table,
    joins: new ScoreJoins(table, numbers(metadata, 'scores', tokens.length)),
    byteFallback,
    controls,
    blanks,
    cutter: list.spacesLead ? new SpaceCutter(false) : new PatternCutter([]),
    piecesAreTokens: false,
    visibleSpaces: true,
    leadingSpace: metadata.get(`${PREFIX}add_space_prefix`) === false ? undefined : 'always',
  });
}

function special(
  tokens: readonly string[],
  types: ArrayLike<number>,
): { controls: Map<number, string>; blanks: Map<string, number> } {
  const controls = new Map<number, string>();
  const blanks = new Map<string, number>();
  for (const [id, token] of tokens.entries()) {
    if (types[id] === TYPE.control || types[id] === TYPE.unknown) controls.set(id, token);
    else if (types[id] === TYPE.userDefined && /^[\s\u2581]+$/.test(token)) blanks.set(token, id);
    else if (types[id] === TYPE.userDefined) controls.set(id, token);
  }
  return { controls, blanks };
}

function fingerprintOf(metadata: Metadata): string {
  const hash = createHash('sha256');
  for (const [key, value] of metadata) {
    hash
      .update(key)
      .update(value instanceof Float64Array ? Buffer.from(value.buffer) : JSON.stringify(value));
  }
  return hash.digest('hex');
}

function strings(metadata: Metadata, key: string): readonly string[] {
  const value = metadata.get(PREFIX + key);
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string'))
    throw new UnsupportedField(PREFIX + key, 'not a list of strings');
  return value;
}

function numbers(metadata: Metadata, key: string, length: number): Float64Array {
  const value = metadata.get(PREFIX + key);
  if (!(value instanceof Float64Array) || value.length < length)
    throw new UnsupportedField(PREFIX + key, 'not a list with a number for every token');
  return value;
}
