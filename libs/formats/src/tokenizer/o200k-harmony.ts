import { BytePairTokenizer } from './byte-pair-tokenizer.js';
import { type Cutter } from './cutting.js';
import { RankJoins } from './joins.js';
import { parseRanks, readRankFile } from './ranks.js';
import { pieceEnd } from './split.js';
import { type SteppedTokenizer } from './types.js';

/** Control ids of Harmony that have a meaning, by name. */
export const HARMONY = {
  startOfText: 199998,
  endOfText: 199999,
  return: 200002,
  constrain: 200003,
  channel: 200005,
  start: 200006,
  end: 200007,
  message: 200008,
  call: 200012,
  /**
   * A reserved id that stands where an image belongs. gpt-oss knows no images and gets none; the built-in engine reads it
   * as other models read their image tokens.
   */
  image: 200013,
} as const;

const NAMED: Record<number, string> = {
  [HARMONY.startOfText]: '<|startoftext|>',
  [HARMONY.endOfText]: '<|endoftext|>',
  [HARMONY.return]: '<|return|>',
  [HARMONY.constrain]: '<|constrain|>',
  [HARMONY.channel]: '<|channel|>',
  [HARMONY.start]: '<|start|>',
  [HARMONY.end]: '<|end|>',
  [HARMONY.message]: '<|message|>',
  [HARMONY.call]: '<|call|>',
};

/** First and last control id of the vocabulary; those without a name are reserved. */
const FIRST_CONTROL = 199998;
const LAST_CONTROL = 201087;

const o200kCutter: Cutter = { cursor: (text) => ({ pieceEnd: (start) => pieceEnd(text, start) }) };

let instance: SteppedTokenizer | undefined;

/**
 * The vocabulary of gpt-oss: o200k ranks with the control tokens of Harmony. Built at the first call, once per
 * process (about a quarter of a second), and shared.
 * @throws Error when the rank data of npm `tiktoken` cannot be read.
 */
export function o200kHarmony(): SteppedTokenizer {
  if (instance === undefined) {
    const controls = new Map<number, string>();
    for (let id = FIRST_CONTROL; id <= LAST_CONTROL; id++)
      controls.set(id, NAMED[id] ?? `<|reserved_${id}|>`);
    const table = parseRanks(readRankFile('o200k_base').bpe_ranks);
    instance = new BytePairTokenizer({
      name: 'o200k_harmony',
      source: 'o200k_harmony',
      fingerprint: 'o200k_harmony',
      table,
      joins: new RankJoins(table),
      controls,
      cutter: o200kCutter,
      piecesAreTokens: true,
    });
  }
  return instance;
}
