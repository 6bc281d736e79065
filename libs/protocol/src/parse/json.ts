import { ApiError } from '../errors.js';
import { keepToolsText, stringEnd } from './tools-text.js';

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
  const toolsText = lookThrough(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ApiError('invalid_json');
  }
  const whole = LONE_SURROGATE_CANDIDATE.test(text) ? wellFormed(value) : value;
  if (toolsText !== undefined && typeof whole === 'object' && whole !== null && 'tools' in whole) {
    keepToolsText(whole.tools, toolsText);
  }
  return whole;
}

const TOOLS = '"tools"';

/**
 * Looks at what stands outside of strings, as far as it is within the limits. One pass, no allocation.
 * @returns the text of `tools` where its value will not tell all of it: see tools-text.ts
 * @throws ApiError json_too_deep | json_too_many_values
 */
function lookThrough(text: string): string | undefined {
  let depth = 0;
  let values = 0;
  /** Where the list of tools begins and ends, and whether something in it is lost when it is parsed. */
  let tools = -1;
  let toolsEnd = -1;
  let isLossy = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const isInTools = tools !== -1 && toolsEnd === -1;
    if (code === 0x22) {
      const end = stringEnd(text, i);
      if (depth === 1 && end - i === TOOLS.length - 1 && text.startsWith(TOOLS, i)) {
        tools = end + 1;
        toolsEnd = -1;
        isLossy = false;
      } else if (isInTools && !isLossy) isLossy = isDigit(text.charCodeAt(i + 1));
      i = end;
    } else if (code === 0x7b || code === 0x5b) {
      values++;
      depth++;
    } else if (code === 0x7d || code === 0x5d) {
      depth--;
      if (isInTools && depth === 1) toolsEnd = i + 1;
    } else if (code === 0x2c) {
      values++;
      if (isInTools && depth === 1) toolsEnd = i;
    } else if (isInTools && !isLossy && isDigit(code)) {
      isLossy = !isPlainInteger(text, i);
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
  if (!isLossy) return undefined;
  const from = text.indexOf('[', tools);
  return from === -1 || from >= toolsEnd ? undefined : text.slice(from, toolsEnd);
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Digits that a number of JavaScript is exact for. */
const EXACT_DIGITS = 15;

/** Whether the digits that begin here are an integer that is written as it was sent, or go on with more digits of one. */
function isPlainInteger(text: string, from: number): boolean {
  let at = from;
  while (isDigit(text.charCodeAt(at))) at++;
  const isZeroBelow = text.charAt(from) === '0' && text.charAt(from - 1) === '-';
  return at - from <= EXACT_DIGITS && !'.eE'.includes(text.charAt(at) || ' ') && !isZeroBelow;
}

function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [key.toWellFormed(), wellFormed(entry)]),
  );
}
