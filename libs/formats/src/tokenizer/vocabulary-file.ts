import { closeSync, openSync, readSync } from 'node:fs';
import { resolve } from 'node:path';
import { readGgufTokenizer } from './gguf-vocabulary.js';
import { readTokenizerJson } from './tokenizer-json.js';
import { type SteppedTokenizer } from './types.js';
import { VocabularyError } from './vocabulary-error.js';

const opened = new Map<string, SteppedTokenizer>();

/**
 * The vocabulary in a file: a `tokenizer.json` of Hugging Face, or a model in GGUF, of which only the head is read. Read at
 * the first call, which takes up to seconds for the largest, and shared.
 * @throws VocabularyError, naming file and field, when it cannot be read or is of a kind that is not supported.
 */
export function tokenizerFromFile(path: string): SteppedTokenizer {
  const absolute = resolve(path);
  const known = opened.get(absolute);
  if (known !== undefined) return known;
  const tokenizer = isGguf(absolute) ? readGgufTokenizer(absolute) : readTokenizerJson(absolute);
  opened.set(absolute, tokenizer);
  return tokenizer;
}

/** @throws VocabularyError when the file cannot be read */
export function isGguf(path: string): boolean {
  try {
    const file = openSync(path, 'r');
    const magic = Buffer.alloc(4);
    try {
      readSync(file, magic, 0, 4, 0);
    } finally {
      closeSync(file);
    }
    return magic.toString('latin1') === 'GGUF';
  } catch (error) {
    throw new VocabularyError(path, undefined, error instanceof Error ? error.message : String(error));
  }
}
