/** How a text was hidden inside of another. */
export type Hiding = 'base64' | 'direction_override' | 'invisible_text';

export interface HiddenText {
  readonly text: string;
  readonly hiding: Hiding;
}

/** Shorter runs are words. */
export const MIN_RUN = 16;
/** Longer ones are data: no model reads them as text. */
export const MAX_RUN = 2_048;

const RIGHT_TO_LEFT_OVERRIDE = '\u202e';
/** What ends an override: a pop, or the end of the line. */
const OVERRIDE_END = /[\u202c\u2069\n\r\u2029]/;
/** Characters of an override that are read, and around it that are read with it. */
const OVERRIDDEN = 1_024;
const AROUND = 256;
/** High surrogate of the tag characters, which spell ASCII and show nothing. */
const TAG_PLANE = '\udb40';
const TAG_BASE = 0xe0000;
/** A flag of a region is spelled in tags behind this. */
const BLACK_FLAG = 0x1f3f4;
/** Fewer tags say nothing. */
const MIN_TAGS = 4;

/** Of ASCII: 1 for what base64 is written in, both alphabets. */
const BASE64 = new Uint8Array(128);
for (const character of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-') {
  BASE64[character.charCodeAt(0)] = 1;
}

export function isRunUnit(unit: number): boolean {
  return unit < 128 && BASE64[unit] === 1;
}

/** Where the run begins that the text ends with; its length when it ends with none. */
export function openRun(text: string): number {
  let at = text.length;
  while (at > 0 && isRunUnit(text.charCodeAt(at - 1))) at -= 1;
  return at;
}

/**
 * Runs of letters, digits and `+/_-` that are long enough to hold something.
 * @param from runs that end before have been seen
 */
export function* runsOf(text: string, from: number): Generator<string> {
  let start = 0;
  for (let at = 0; at <= text.length; at += 1) {
    if (at < text.length && isRunUnit(text.charCodeAt(at))) continue;
    if (at - start >= MIN_RUN && at > from) yield text.slice(start, at);
    start = at + 1;
  }
}

/** What base64 may say, from each of the four places where its groups can begin. Bytes are read as UTF-8. */
export function* decodedRun(run: string): Generator<HiddenText> {
  if (run.length > MAX_RUN) return;
  for (let shift = 0; shift < 4; shift += 1) {
    yield { text: Buffer.from(run.slice(shift), 'base64').toString('utf8'), hiding: 'base64' };
  }
}

/**
 * Text that is shown in another order than it stands in, in the order in which it is shown, and text in characters that
 * are not shown. Linear: overrides are read up to a length, each behind the end of the one before.
 */
export function* unseenTexts(text: string, from: number): Generator<HiddenText> {
  for (let at = text.indexOf(RIGHT_TO_LEFT_OVERRIDE); at !== -1;) {
    const rest = text.slice(at + 1, at + 1 + OVERRIDDEN);
    const end = rest.search(OVERRIDE_END);
    const inside = end === -1 ? rest : rest.slice(0, end);
    const behind = at + 1 + inside.length;
    if (behind > from && /\p{L}{2}/u.test(inside)) {
      const shown = [...inside].reverse().join('');
      const around = [text.slice(Math.max(0, at - AROUND), at), text.slice(behind, behind + AROUND)];
      yield { text: around.join(shown), hiding: 'direction_override' };
    }
    at = text.indexOf(RIGHT_TO_LEFT_OVERRIDE, behind);
  }
  if (text.includes(TAG_PLANE)) yield* taggedTexts(text, from);
}

function* taggedTexts(text: string, from: number): Generator<HiddenText> {
  const first = text.indexOf(TAG_PLANE);
  let spelled = '';
  let before = text.codePointAt(Math.max(0, first - 2)) ?? 0;
  for (let at = first; at < text.length;) {
    const code = text.codePointAt(at) ?? 0;
    const letter = code - TAG_BASE;
    if (letter >= 0x20 && letter <= 0x7e) spelled += String.fromCharCode(letter);
    else {
      if (spelled.length >= MIN_TAGS && at > from && before !== BLACK_FLAG) yield tagged(spelled);
      if (spelled !== '' || code !== 0xe007f) before = code;
      spelled = '';
    }
    at += code > 0xffff ? 2 : 1;
  }
  if (spelled.length >= MIN_TAGS && before !== BLACK_FLAG) yield tagged(spelled);
}

function tagged(text: string): HiddenText {
  return { text, hiding: 'invisible_text' };
}
