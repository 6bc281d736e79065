import { ApiError } from '../errors.js';

/** Deepest nesting taken: far beyond any real tool schema, far below what could exhaust a stack. */
export const MAX_JSON_DEPTH = 256;

const LONE_SURROGATE_CANDIDATE = /\\u[dD][89a-fA-F]/;

/**
 * JSON text to a value, safe on hostile input: depth is checked before parsing, and lone surrogates become U+FFFD
 * here, so that everything behind sees one and the same text. The text itself never appears in an error.
 * @throws ApiError json_too_deep | invalid_json
 */
export function parseJson(text: string): unknown {
  if (exceedsDepth(text, MAX_JSON_DEPTH)) {
    throw new ApiError('json_too_deep', {
      message: `The JSON is nested more than ${MAX_JSON_DEPTH} levels deep.`,
    });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ApiError('invalid_json');
  }
  return LONE_SURROGATE_CANDIDATE.test(text) ? wellFormed(value) : value;
}

/** True when brackets outside strings nest deeper than `limit`. One pass, no allocation. */
function exceedsDepth(text: string, limit: number): boolean {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x22) {
      i = endOfString(text, i);
    } else if (code === 0x7b || code === 0x5b) {
      if (++depth > limit) return true;
    } else if (code === 0x7d || code === 0x5d) {
      depth--;
    }
  }
  return false;
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
