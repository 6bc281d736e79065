import { z } from 'zod';
import { type SplitBehavior, type SplitStage } from './cutting.js';
import { type UnicodeForm } from './normalize.js';
import { SplitMatcher } from './split-matcher.js';
import { parseSplitPattern } from './split-pattern.js';

/** What the normalizer and the pre-tokenizer of a tokenizer.json say. */
export interface TextStages {
  form?: UnicodeForm;
  visibleSpaces: boolean;
  leadingSpace?: 'always' | 'unlessThere';
  /** Where spaces are cut, when the pre-tokenizer is about nothing else. */
  cutsEverySpace: boolean;
  splits: SplitStage[];
  byteLevel: boolean;
}

/** Something in the file that is not supported, with its field. */
export class UnsupportedField extends Error {
  constructor(
    readonly field: string,
    why: string,
  ) {
    super(why);
  }
}

const typed = z.looseObject({ type: z.string() });
type Typed = z.infer<typeof typed>;

/** GPT-2's pattern, which ByteLevel runs by itself unless it is told not to. */
export const GPT2_PATTERN = String.raw`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`;

const BEHAVIORS: readonly SplitBehavior[] = [
  'Isolated',
  'Contiguous',
  'MergedWithPrevious',
  'MergedWithNext',
];

const VISIBLE_SPACE = '\u2581';

/**
 * Reads the fields `normalizer` and `pre_tokenizer`.
 * @throws UnsupportedField for what is not known here: text must not be encoded in another way than the model learnt.
 */
export function textStages(normalizer: unknown, preTokenizer: unknown): TextStages {
  const stages: TextStages = { visibleSpaces: false, cutsEverySpace: false, splits: [], byteLevel: false };
  for (const [step, field] of flatten(normalizer, 'normalizer', 'normalizers'))
    normalize(stages, step, field);
  for (const [step, field] of flatten(preTokenizer, 'pre_tokenizer', 'pretokenizers'))
    preTokenize(stages, step, field);
  return stages;
}

/** The steps of a field, those of sequences one by one, each with its path. */
function flatten(value: unknown, field: string, list: string): [Typed, string][] {
  if (value === null || value === undefined) return [];
  const parsed = typed.safeParse(value);
  if (!parsed.success) throw new UnsupportedField(field, 'it has no type');
  if (parsed.data.type !== 'Sequence') return [[parsed.data, field]];
  const members = z.array(z.unknown()).safeParse(parsed.data[list]);
  if (!members.success) throw new UnsupportedField(`${field}.${list}`, 'it is not a list');
  return members.data.flatMap((member, index) => flatten(member, `${field}.${list}[${index}]`, list));
}

function normalize(stages: TextStages, step: Typed, field: string): void {
  switch (step.type) {
    case 'NFC':
    case 'NFD':
    case 'NFKC':
    case 'NFKD':
      stages.form = step.type;
      return;
    case 'Prepend':
      if (step.prepend !== VISIBLE_SPACE) break;
      stages.leadingSpace = 'always';
      return;
    case 'Replace':
      if (stringPattern(step) !== ' ' || step.content !== VISIBLE_SPACE) break;
      stages.visibleSpaces = true;
      return;
  }
  throw new UnsupportedField(field, `the normalizer ${step.type} is not supported`);
}

function preTokenize(stages: TextStages, step: Typed, field: string): void {
  switch (step.type) {
    case 'ByteLevel':
      if (step.add_prefix_space === true)
        throw new UnsupportedField(
          `${field}.add_prefix_space`,
          'a space before every piece is not supported',
        );
      if (step.use_regex !== false) stages.splits.push(stage(GPT2_PATTERN, 'Isolated', field));
      stages.byteLevel = true;
      return;
    case 'Digits':
      stages.splits.push(
        stage(String.raw`\p{N}`, step.individual_digits === true ? 'Isolated' : 'Contiguous', field),
      );
      return;
    case 'Punctuation':
      stages.splits.push(stage(String.raw`[\p{P}!-/:-@\[-${'`'}{-~]`, behavior(step, field), field));
      return;
    case 'Metaspace':
      metaspace(stages, step, field);
      return;
    case 'Split':
      split(stages, step, field);
      return;
  }
  throw new UnsupportedField(field, `the pre-tokenizer ${step.type} is not supported`);
}

/**
 * A prefix for the first text of a prompt alone ("first") is none for us: a prompt begins with a control token, and
 * text behind one has no prefix then.
 */
function metaspace(stages: TextStages, step: Typed, field: string): void {
  if (step.replacement !== VISIBLE_SPACE)
    throw new UnsupportedField(`${field}.replacement`, 'only U+2581 is supported');
  stages.visibleSpaces = true;
  const scheme = step.prepend_scheme ?? (step.add_prefix_space === false ? 'never' : 'always');
  if (scheme === 'always') stages.leadingSpace = 'unlessThere';
  if (step.split !== false) stages.cutsEverySpace = true;
}

function split(stages: TextStages, step: Typed, field: string): void {
  const literal = stringPattern(step);
  if (stages.visibleSpaces) {
    // There is no space left that this could match.
    if (literal === ' ') return;
    throw new UnsupportedField(field, 'a split of text whose spaces are replaced is not supported');
  }
  const regex = z.object({ pattern: z.object({ Regex: z.string() }) }).safeParse(step);
  const pattern = literal?.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&') ?? regex.data?.pattern.Regex;
  if (pattern === undefined) throw new UnsupportedField(`${field}.pattern`, 'it is neither String nor Regex');
  stages.splits.push(stage(pattern, behavior(step, field), `${field}.pattern`));
}

function behavior(step: Typed, field: string): SplitBehavior {
  const given = step.behavior ?? 'Isolated';
  // What the matches leave over is removed: patterns written for that leave nothing over.
  if (given === 'Removed' && step.invert === true) return 'Isolated';
  if (step.invert === true) throw new UnsupportedField(`${field}.invert`, 'it is not supported');
  const known = BEHAVIORS.find((name) => name === given);
  if (known !== undefined) return known;
  throw new UnsupportedField(`${field}.behavior`, 'it is not supported');
}

function stringPattern(step: Typed): string | undefined {
  return z.object({ pattern: z.object({ String: z.string() }) }).safeParse(step).data?.pattern.String;
}

/** @param field path of the pattern, for the error */
export function stage(pattern: string, splitBehavior: SplitBehavior, field: string): SplitStage {
  try {
    return { matcher: new SplitMatcher(parseSplitPattern(pattern)), behavior: splitBehavior };
  } catch (error) {
    throw new UnsupportedField(field, error instanceof Error ? error.message : String(error));
  }
}
