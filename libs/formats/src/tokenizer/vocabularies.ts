import { cl100k } from './cl100k.js';
import { o200kHarmony } from './o200k-harmony.js';
import { tokenizerFromFile } from './vocabulary-file.js';
import { type SteppedTokenizer } from './types.js';

const BUILT_IN: Readonly<Record<string, (() => SteppedTokenizer) | undefined>> = {
  o200k_harmony: o200kHarmony,
  cl100k,
};

/**
 * The tokenizer with this `Tokenizer.source`: how a worker thread gets at the one its owner uses.
 * @throws VocabularyError when it is a file that cannot be used.
 */
export function openTokenizer(source: string): SteppedTokenizer {
  return BUILT_IN[source]?.() ?? tokenizerFromFile(source);
}
