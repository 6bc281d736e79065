import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { readGgufMetadata } from '../tokenizer/gguf-metadata.js';
import type { Tokenizer } from '../tokenizer/types.js';
import { isGguf } from '../tokenizer/vocabulary-file.js';
import { VocabularyError } from '../tokenizer/vocabulary-error.js';

/** Literals of special tokens, by the names that templates have for them. */
export type SpecialTokens = Readonly<Record<string, string>>;

/** As transformers names them. */
const NAMES = ['bos_token', 'eos_token', 'unk_token', 'sep_token', 'pad_token', 'cls_token', 'mask_token'];

/** A token there is its literal, or an object with that; what a model has not got is null or missing. */
const configFile = z.record(z.string(), z.unknown());
const token = z.union([z.string(), z.object({ content: z.string() }).transform(({ content }) => content)]);

/** Special tokens that a template writes by their names, and so does not say which they are. */
export function specialTokensNamedIn(template: string): string[] {
  return NAMES.filter((name) => new RegExp(`\\b${name}\\b`).test(template));
}

/**
 * The special tokens in a `tokenizer_config.json`.
 * @throws VocabularyError when it cannot be read
 */
export function specialTokensIn(path: string): SpecialTokens {
  let fields: Readonly<Record<string, unknown>>;
  try {
    fields = configFile.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (thrown) {
    throw new VocabularyError(path, undefined, thrown instanceof Error ? thrown.message : String(thrown));
  }
  return Object.fromEntries(
    NAMES.flatMap((name) => {
      const { data } = token.safeParse(fields[name]);
      return data === undefined ? [] : [[name, data]];
    }),
  );
}

/**
 * The special tokens of a vocabulary: a GGUF file has them itself, a `tokenizer.json` in the `tokenizer_config.json` beside it.
 * @param path of the vocabulary
 * @returns undefined where there is no such file
 * @throws VocabularyError when it cannot be read
 */
export function specialTokensOf(path: string, tokenizer: Tokenizer): SpecialTokens | undefined {
  if (isGguf(path)) {
    const ids = readGgufMetadata(path, (key) => /^tokenizer\.ggml\.[be]os_token_id$/.test(key));
    return Object.fromEntries(
      ['bos_token', 'eos_token'].flatMap((name) => {
        const id = ids.get(`tokenizer.ggml.${name}_id`);
        return typeof id === 'number' ? [[name, tokenizer.decode([id])]] : [];
      }),
    );
  }
  const config = join(dirname(path), 'tokenizer_config.json');
  return existsSync(config) ? specialTokensIn(config) : undefined;
}
