import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { z } from 'zod';
import { BytePairTokenizer } from './byte-pair-tokenizer.js';
import { PatternCutter, SpaceCutter, type Cutter } from './cutting.js';
import { type PairJoins } from './joins.js';
import { pairJoins } from './pair-list.js';
import { tokenList } from './token-list.js';
import { textStages, UnsupportedField, type TextStages } from './tokenizer-json-stages.js';
import { type SteppedTokenizer, type Strips } from './types.js';
import { VocabularyError } from './vocabulary-error.js';

/** Ids up to here: more than any vocabulary has, and few enough for tables by id. */
const LARGEST_ID = 10_000_000;

const addedToken = z.object({
  id: z.int().nonnegative().max(LARGEST_ID),
  content: z.string().min(1),
  special: z.boolean(),
  lstrip: z.boolean().default(false),
  rstrip: z.boolean().default(false),
});

/** What is read of a tokenizer.json; the vocabulary and the merges are checked entry by entry, without a copy. */
const tokenizerFile = z.object({
  added_tokens: z.array(addedToken).default([]),
  normalizer: z.unknown(),
  pre_tokenizer: z.unknown(),
  model: z.looseObject({
    type: z.literal('BPE').default('BPE'),
    byte_fallback: z.boolean().nullish(),
    ignore_merges: z.boolean().nullish(),
    continuing_subword_prefix: z.literal('').nullish(),
    end_of_word_suffix: z.literal('').nullish(),
  }),
});
type TokenizerFile = z.infer<typeof tokenizerFile>;

/**
 * The byte-pair vocabulary of a `tokenizer.json` of Hugging Face. Added tokens are control tokens whether or not the
 * file calls them special, since templates make them and users must not; only those of white space alone are text.
 * What the file says about adding tokens around a text is left to formats.
 * @param path absolute
 * @throws VocabularyError, naming the field, when the file cannot be read or asks for what is not supported.
 */
export function readTokenizerJson(path: string): SteppedTokenizer {
  const parsed = parse(path);
  try {
    return build(path, parsed);
  } catch (error) {
    if (error instanceof UnsupportedField) throw new VocabularyError(path, error.field, error.message);
    throw error;
  }
}

interface Parsed {
  readonly file: TokenizerFile;
  readonly vocab: readonly [string, number][];
  readonly merges: readonly (string | [string, string])[];
  readonly fingerprint: string;
}

function parse(path: string): Parsed {
  let json: unknown;
  let fingerprint: string;
  try {
    const bytes = readFileSync(path);
    fingerprint = createHash('sha256').update(bytes).digest('hex');
    json = JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw new VocabularyError(path, undefined, error instanceof Error ? error.message : String(error));
  }
  // Beside it lie tokenizer_config.json, vocab.json and others.
  if (typeof json !== 'object' || json === null || !('model' in json))
    throw new VocabularyError(path, 'model', 'is missing, so this is no tokenizer.json');
  const parsed = tokenizerFile.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new VocabularyError(path, issue?.path.join('.'), issue?.message ?? 'not a tokenizer');
  }
  const { vocab, merges } = parsed.data.model;
  if (typeof vocab !== 'object' || vocab === null || !Object.values(vocab).every(isId))
    throw new VocabularyError(path, 'model.vocab', 'not a map of tokens to ids');
  if (!Array.isArray(merges) || !merges.every(isMerge))
    throw new VocabularyError(path, 'model.merges', 'not a list of pairs');
  return { file: parsed.data, vocab: Object.entries(vocab) as [string, number][], merges, fingerprint };
}

function isId(value: unknown): boolean {
  return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= LARGEST_ID;
}

function isMerge(value: unknown): value is string | [string, string] {
  if (typeof value === 'string') return value.indexOf(' ', 1) > 0;
  return Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === 'string');
}

function build(path: string, { file, vocab, merges, fingerprint }: Parsed): SteppedTokenizer {
  const { model } = file;
  const stages = textStages(file.normalizer, file.pre_tokenizer);
  if (stages.byteLevel === (model.byte_fallback === true)) {
    throw new UnsupportedField(
      'model.byte_fallback',
      'only byte-level vocabularies or those with bytes are supported',
    );
  }
  const idOf = new Map(vocab);
  const { controls, blanks } = addedTokens(file);
  const tokens: (string | undefined)[] = [];
  for (const [token, id] of vocab) tokens[id] = token;
  const isText = (id: number) => !controls.has(id);
  // A copy without holes, which the assignments by id leave.
  const list = tokenList(Array.from(tokens), stages.byteLevel ? 'byteLevel' : 'sentencePiece', isText);
  if (list.byteFallback?.includes(-1) === true)
    throw new UnsupportedField('model.vocab', 'it lacks tokens of bytes, as <0x0A>');
  return new BytePairTokenizer({
    name: basename(dirname(path)),
    source: path,
    fingerprint,
    table: list.table,
    joins: joins(merges, idOf, isText),
    byteFallback: list.byteFallback,
    controls,
    strips: strips(file),
    blanks,
    cutter: cutter(stages, list.spacesLead),
    piecesAreTokens: model.ignore_merges === true,
    form: stages.form,
    visibleSpaces: stages.visibleSpaces,
    leadingSpace: stages.leadingSpace,
  });
}

/** Which added tokens are control tokens, and which of them are white space that text is made of. */
function addedTokens({ added_tokens }: TokenizerFile): {
  controls: Map<number, string>;
  blanks: Map<string, number>;
} {
  const controls = new Map<number, string>();
  const blanks = new Map<string, number>();
  for (const { id, content, special } of added_tokens) {
    if (!special && /^[\s\u2581]+$/.test(content)) blanks.set(content, id);
    else controls.set(id, content);
  }
  return { controls, blanks };
}

/** Phi-3's marks take the line feed behind them away. */
function strips({ added_tokens }: TokenizerFile): Map<number, Strips> {
  const stripping = added_tokens.filter(({ lstrip, rstrip }) => lstrip || rstrip);
  return new Map(stripping.map(({ id, lstrip, rstrip }) => [id, { left: lstrip, right: rstrip }]));
}

function joins(
  merges: readonly (string | [string, string])[],
  idOf: ReadonlyMap<string, number>,
  isText: (id: number) => boolean,
): PairJoins {
  try {
    return pairJoins(merges, idOf, isText);
  } catch (error) {
    if (error instanceof RangeError) throw new UnsupportedField('model.merges', error.message);
    throw error;
  }
}

function cutter(stages: TextStages, spacesLead: boolean): Cutter {
  if (stages.cutsEverySpace) return new SpaceCutter(true);
  return stages.visibleSpaces && spacesLead ? new SpaceCutter(false) : new PatternCutter(stages.splits);
}
