import { BytePairTokenizer } from './byte-pair-tokenizer.js';
import { PatternCutter } from './cutting.js';
import { RankJoins } from './joins.js';
import { parseRanks, readRankFile } from './ranks.js';
import { SplitMatcher } from './split-matcher.js';
import { parseSplitPattern } from './split-pattern.js';
import { type SteppedTokenizer } from './types.js';

let instance: SteppedTokenizer | undefined;

/**
 * The vocabulary cl100k, built at the first call and shared.
 * @throws Error when the rank data of npm `tiktoken` cannot be read.
 */
export function cl100k(): SteppedTokenizer {
  if (instance === undefined) {
    const file = readRankFile('cl100k_base');
    const table = parseRanks(file.bpe_ranks);
    const matcher = new SplitMatcher(parseSplitPattern(file.pat_str));
    instance = new BytePairTokenizer({
      name: 'cl100k',
      source: 'cl100k',
      fingerprint: 'cl100k',
      table,
      joins: new RankJoins(table),
      controls: new Map(Object.entries(file.special_tokens).map(([text, id]) => [id, text])),
      cutter: new PatternCutter([{ matcher, behavior: 'Isolated' }]),
      piecesAreTokens: true,
    });
  }
  return instance;
}
