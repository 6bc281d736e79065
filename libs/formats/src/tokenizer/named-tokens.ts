import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';

/** Control tokens by the names that chat templates have for them: `bos_token`, `eos_token`. */
export type NamedTokens = Readonly<Record<string, string>>;

/** Where Hugging Face keeps the names, beside tokenizer.json; the first that has any counts, as in transformers. */
const FILES = ['tokenizer_config.json', 'special_tokens_map.json'];

const named = z.union([z.string(), z.object({ content: z.string() }).transform(({ content }) => content)]);

/**
 * The names for the vocabulary in a tokenizer.json, which does not have them itself. A file that is not there, or cannot be read,
 * says nothing.
 */
export function namedTokensBeside(path: string): NamedTokens {
  for (const file of FILES) {
    const tokens = namesIn(join(dirname(path), file));
    if (Object.keys(tokens).length > 0) return tokens;
  }
  return {};
}

function namesIn(path: string): NamedTokens {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return {};
  }
  const fields = z.record(z.string(), z.unknown()).safeParse(json).data ?? {};
  const tokens: Record<string, string> = {};
  for (const [name, value] of Object.entries(fields)) {
    const token = name.endsWith('_token') ? named.safeParse(value).data : undefined;
    if (token !== undefined && token !== '') tokens[name] = token;
  }
  return tokens;
}
