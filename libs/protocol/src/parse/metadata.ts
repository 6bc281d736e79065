import { fieldPath, invalid, isAbsent, isObject, wrongType } from './fields.js';

/** Source of the three bounds: openai-node `Metadata`. */
const MAX_PAIRS = 16;
const MAX_KEY_CHARACTERS = 64;
const MAX_VALUE_CHARACTERS = 512;

/** Keys that an error may repeat; any other could be text that belongs in no error. */
const NAME = /^[\w.-]+$/;

/**
 * The `metadata` of a request.
 * @throws ApiError invalid_type | invalid_value
 */
export function parseMetadata(value: unknown, path: string): Record<string, string> {
  if (isAbsent(value)) return {};
  if (!isObject(value)) throw wrongType(path, 'object', value);
  const pairs = Object.entries(value);
  if (pairs.length > MAX_PAIRS) throw invalid(path, `at most ${MAX_PAIRS} pairs are taken`);
  return Object.fromEntries(
    pairs.map(([key, text]) => {
      if (key.length > MAX_KEY_CHARACTERS)
        throw invalid(path, `a key has more than ${MAX_KEY_CHARACTERS} characters`);
      const param = NAME.test(key) ? fieldPath(path, [key]) : path;
      if (typeof text !== 'string') throw wrongType(param, 'string', text);
      if (text.length > MAX_VALUE_CHARACTERS)
        throw invalid(param, `more than ${MAX_VALUE_CHARACTERS} characters`);
      return [key, text];
    }),
  );
}
