import { ApiError } from '../errors.js';

/** Deepest nesting taken: far beyond any real tool schema, far below what could exhaust a stack. */
export const MAX_JSON_DEPTH = 256;

/**
 * Most values taken, counted as opening brackets and commas: a text has at most one value more. Fifty times what the
 * longest agent conversations have, and under 100 MB once parsed.
 */
export const MAX_JSON_VALUES = 1_000_000;

const LONE_SURROGATE_CANDIDATE = /\\u[dD][89a-fA-F]/;

/**
 * JSON text to a value, safe on hostile input: depth and number of values are checked before parsing, and lone
 * surrogates become U+FFFD here, so that everything behind sees one and the same text. The text itself never appears
 * in an error.
 * @throws ApiError json_too_deep | json_too_many_values | invalid_json
 */
export function parseJson(text: string): unknown {
  refuseLarge(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ApiError('invalid_json');
  }
  return LONE_SURROGATE_CANDIDATE.test(text) ? wellFormed(value) : value;
}

/** Looks at what stands outside of strings, as far as it is within the limits. One pass, no allocation. */
function refuseLarge(text: string): void {
  let depth = 0;
  let values = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) {
      i = endOfString(text, i);
    } else if (code === 0x7b || code === 0x5b) {
      values++;
      depth++;
    } else if (code === 0x7d || code === 0x5d) {
      depth--;
    } else if (code === 0x2c) {
      values++;
    }
    if (depth > MAX_JSON_DEPTH) {
      throw new ApiError('json_too_deep', {
        message: `The JSON is nested more than ${MAX_JSON_DEPTH} levels deep.`,
      });
    }
    if (values > MAX_JSON_VALUES) {
      throw new ApiError('json_too_many_values', {
        message: `The JSON has more than ${MAX_JSON_VALUES} values.`,
      });
    }
  }
}

/** Index of the quote that closes the string opened at `open`; the text's length when it is never closed. */
function endOfString(text: string, open: number): number {
  let from = open + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote === -1) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return quote;
    from = quote + 1;
  }
}

function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [key.toWellFormed(), wellFormed(entry)]),
  );
}
