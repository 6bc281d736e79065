import { O200K_PATTERN } from './split.js';
import { GPT2_PATTERN } from './tokenizer-json-stages.js';

/** How text is cut for a value of `tokenizer.ggml.pre`. */
export interface GgufSplit {
  /** Patterns that cut one after the other, each leaving what it matches by itself. */
  readonly patterns: readonly string[];
  /** Whether a piece that is a token is that token, however its merges are listed. */
  readonly piecesAreTokens?: true;
  readonly form?: 'NFC';
}

const CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const SPACES = String.raw`\s*[\r\n]+|\s+(?!\S)|\s+`;
const SYMBOLS = String.raw` ?[^\s\p{L}\p{N}]+[\r\n]*`;

const LLAMA3 = String.raw`${CONTRACTIONS}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|${SYMBOLS}|${SPACES}`;
const QWEN2 = String.raw`${CONTRACTIONS}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|${SYMBOLS}|${SPACES}`;
const QWEN35 = String.raw`${CONTRACTIONS}|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|${SPACES}`;
const DEEPSEEK = String.raw`[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_${'`'}{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|${SPACES}`;

/** Letters as o200k has them, `not` left out of each class. */
const casedWords = (not: string, suffix: string): string =>
  [
    String.raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}${not}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}${not}]+${suffix}`,
    String.raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}${not}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}${not}]*${suffix}`,
  ].join('|');
const TEKKEN = String.raw`${casedWords('', '')}|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|${SPACES}`;
const KIMI = String.raw`[\p{Han}]+|${casedWords(String.raw`&&[^\p{Han}]`, `${CONTRACTIONS}?`)}|\p{N}{1,3}|${SYMBOLS}|${SPACES}`;
const BAILING = String.raw`'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`;
const SEED = String.raw`${CONTRACTIONS}|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|${SPACES}`;

const llama3: GgufSplit = { patterns: [LLAMA3], piecesAreTokens: true };
const qwen2: GgufSplit = { patterns: [QWEN2], form: 'NFC' };
const gpt2: GgufSplit = { patterns: [GPT2_PATTERN] };
/** Digits one by one, then as GPT-2. */
const starcoder: GgufSplit = { patterns: [String.raw`\p{N}`, GPT2_PATTERN] };
const deepseekV3: GgufSplit = { patterns: [String.raw`\p{N}{1,3}`, '[一-龥぀-ゟ゠-ヿ]+', DEEPSEEK] };
const gpt4o: GgufSplit = { patterns: [O200K_PATTERN] };

/** By the names that llama.cpp's converter writes. The patterns are those of the models' own tokenizer.json. */
export const GGUF_SPLITS: Readonly<Record<string, GgufSplit | undefined>> = {
  llama3: llama3,
  'llama-v3': llama3,
  'llama-bpe': llama3,
  dbrx: { patterns: [LLAMA3] },
  'smaug-bpe': { patterns: [LLAMA3] },
  glm4: { patterns: [LLAMA3] },
  'chatglm-bpe': { patterns: [LLAMA3] },
  qwen2: qwen2,
  'deepseek-r1-qwen': qwen2,
  megrez: qwen2,
  qwen35: { patterns: [QWEN35], form: 'NFC' },
  stablelm2: { patterns: [QWEN2] },
  hunyuan: { patterns: [QWEN2] },
  'solar-open': { patterns: [QWEN2] },
  'grok-2': { patterns: [QWEN2] },
  'gpt-2': gpt2,
  'phi-2': gpt2,
  olmo: gpt2,
  mpt: gpt2,
  exaone4: gpt2,
  smollm: starcoder,
  starcoder: starcoder,
  refact: starcoder,
  codeshell: starcoder,
  'command-r': starcoder,
  'deepseek-v3': deepseekV3,
  'hunyuan-dense': deepseekV3,
  tekken: { patterns: [TEKKEN], piecesAreTokens: true },
  'gpt-4o': gpt4o,
  llama4: gpt4o,
  'minimax-m2': gpt4o,
  'kimi-k2': { patterns: [KIMI] },
  bailingmoe: { patterns: [BAILING] },
  bailingmoe2: { patterns: [BAILING] },
  'seed-coder': { patterns: [SEED] },
};
