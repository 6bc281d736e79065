import { randomUUID } from 'node:crypto';

const PROMPT_KEY = Buffer.from('"prompt":[');
const CLOSING_BRACKET = 0x5d;
const COMMA = 0x2c;
const ZERO = 0x30;
const NINE = 0x39;
/** Longer numbers are left to the ordinary path, which refuses them. */
const MAX_DIGITS = 7;

/** A body whose prompt has been found as bytes. */
export interface LocatedPrompt {
  /** The request without its prompt. */
  readonly fields: Record<string, unknown>;
  /** The numbers of the prompt are body[start, end), between the brackets. */
  readonly start: number;
  readonly end: number;
}

/**
 * Finds the prompt's array of ids in the bytes of a request, without parsing it. Undefined when the body is written
 * in a way this does not recognise (blanks, another spelling, a string prompt, broken JSON): such a body is for
 * JSON.parse.
 *
 * Why it cannot be fooled: unescaped `"prompt":[` never occurs inside a JSON string, and the array is replaced by a
 * string nobody can know; only if the parsed rest holds that string as its own `prompt` was the array the prompt.
 */
export function locatePrompt(body: Buffer): LocatedPrompt | undefined {
  const key = body.indexOf(PROMPT_KEY);
  if (key < 0) return undefined;
  const start = key + PROMPT_KEY.length;
  const end = body.indexOf(CLOSING_BRACKET, start);
  if (end <= start || !isDigit(body[end - 1])) return undefined;
  const stand = randomUUID();
  const head = body.toString('utf8', 0, start - 1);
  const fields = parseObject(`${head}"${stand}"${body.toString('utf8', end + 1)}`);
  if (fields?.prompt !== stand) return undefined;
  delete fields.prompt;
  return { fields, start, end };
}

/**
 * Parses canonical numbers ("1,2,3": digits and single commas only) in body[from, to). Undefined when they are not
 * canonical or one is not below `limit`.
 */
export function parseIds(body: Buffer, from: number, to: number, limit: number): Int32Array | undefined {
  const ids = new Int32Array(((to - from) >> 1) + 1);
  let count = 0;
  let at = from;
  while (at < to) {
    const first = at;
    let value = 0;
    for (let byte = body[at]; at < to && isDigit(byte); byte = body[++at]) value = value * 10 + (byte - ZERO);
    const digits = at - first;
    if (digits === 0 || digits > MAX_DIGITS || value >= limit) return undefined;
    if (digits > 1 && body[first] === ZERO) return undefined;
    ids[count++] = value;
    if (at < to && (body[at] !== COMMA || ++at === to)) return undefined;
  }
  return ids.slice(0, count);
}

/** The JSON object in `text`; undefined for anything else. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isDigit(byte: number | undefined): byte is number {
  return byte !== undefined && byte >= ZERO && byte <= NINE;
}
