import { ApiError } from '../errors.js';
import { stringEnd } from './json-spans.js';
import { keepItemToolsTexts, keepStoredTexts, keepToolsText } from './tools-text.js';

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
  const lost = lookThrough(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ApiError('invalid_json');
  }
  const whole = LONE_SURROGATE_CANDIDATE.test(text) ? wellFormed(value) : value;
  if (typeof whole !== 'object' || whole === null) return whole;
  if (lost.tools !== undefined && 'tools' in whole) keepToolsText(whole.tools, lost.tools);
  if (lost.ofItems) keepItemToolsTexts(whole, text);
  return whole;
}

const TOOLS = '"tools"';

/**
 * What `jsonOf` has written, an item or an object with lists of items, with what tools were declared by.
 * @throws SyntaxError when it is no JSON
 */
export function parseStored(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || !text.includes(TOOLS)) return value;
  const lost = lookThrough(text);
  if (lost.tools !== undefined || lost.ofItems) keepStoredTexts(value, text);
  return value;
}

/** Lists of tools whose values will not tell all of their text: see tools-text.ts. */
interface Lost {
  /** Text of the list of the object itself. */
  tools: string | undefined;
  /** Whether there is one in an item of a list of the object. */
  ofItems: boolean;
}

/** How deep the list of a request stands, and of an item in a list of it. */
const OF_REQUEST = 1;
const OF_ITEM = 3;

/**
 * Looks at what stands outside of strings, as far as it is within the limits. One pass, no allocation.
 * @throws ApiError json_too_deep | json_too_many_values
 */
function lookThrough(text: string): Lost {
  let depth = 0;
  let values = 0;
  /** Where the list of tools begins and ends, and whether something in it is lost when it is parsed. */
  let tools = -1;
  let toolsEnd = -1;
  let isLossy = false;
  /** The same of lists in items. */
  let isInItem = false;
  let ofItems = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const isInTools = tools !== -1 && toolsEnd === -1;
    if (code === 0x22) {
      const end = stringEnd(text, i);
      const isNameOfTools =
        (depth === OF_REQUEST || depth === OF_ITEM) &&
        end - i === TOOLS.length - 1 &&
        text.startsWith(TOOLS, i);
      if (isNameOfTools && depth === OF_REQUEST) {
        tools = end + 1;
        toolsEnd = -1;
        isLossy = false;
      } else if (isNameOfTools && !isInTools) isInItem = true;
      else if (isInTools && !isLossy) isLossy = isDigit(text.charCodeAt(i + 1));
      else if (isInItem && !ofItems) ofItems = isDigit(text.charCodeAt(i + 1));
      i = end;
    } else if (code === 0x7b || code === 0x5b) {
      values++;
      depth++;
    } else if (code === 0x7d || code === 0x5d) {
      depth--;
      if (isInTools && depth === OF_REQUEST) toolsEnd = i + 1;
      if (depth <= OF_ITEM) isInItem = false;
    } else if (code === 0x2c) {
      values++;
      if (isInTools && depth === OF_REQUEST) toolsEnd = i;
    } else if (isInTools && !isLossy && isDigit(code)) {
      isLossy = !isPlainInteger(text, i);
    } else if (isInItem && !ofItems && isDigit(code)) {
      ofItems = !isPlainInteger(text, i);
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
  const from = isLossy ? text.indexOf('[', tools) : -1;
  return { tools: from === -1 || from >= toolsEnd ? undefined : text.slice(from, toolsEnd), ofItems };
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
