import { o200kHarmony } from './o200k-harmony.js';
import { type SteppedTokenizer } from './types.js';

/** Every vocabulary by `Tokenizer.name`: how a worker thread gets at the one its owner uses. */
export const VOCABULARIES: Readonly<Record<string, () => SteppedTokenizer>> = { o200k_harmony: o200kHarmony };
