/** How a text was hidden inside of another. */
export type Hiding = 'base64' | 'direction_override' | 'invisible_text';

export interface HiddenText {
  readonly text: string;
  readonly hiding: Hiding;
}

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

/**
 * Text that is shown in another order than it stands in, in the order in which it is shown, and text in characters that
 * are not shown. Linear: no character is part of more than two of them.
 * @param from what ends before has been seen
 */
export function* unseenTexts(text: string, from: number): Generator<HiddenText> {
  if (text.includes(RIGHT_TO_LEFT_OVERRIDE)) yield* overriddenTexts(text, from);
  if (text.includes(TAG_PLANE)) yield* taggedTexts(text, from);
}

/** Overrides with what stands around them; those that are near each other as one. */
function* overriddenTexts(text: string, from: number): Generator<HiddenText> {
  /** What is shown up to `end`; '' before the first override. */
  let shown = '';
  let end = 0;
  let isNew = false;
  const ended = (): HiddenText => ({
    text: shown + text.slice(end, end + AROUND),
    hiding: 'direction_override',
  });
  for (let at = text.indexOf(RIGHT_TO_LEFT_OVERRIDE); at !== -1;) {
    const rest = text.slice(at + 1, at + 1 + OVERRIDDEN);
    const stop = rest.search(OVERRIDE_END);
    const inside = stop === -1 ? rest : rest.slice(0, stop);
    const behind = at + 1 + inside.length;
    if (/\p{L}{2}/u.test(inside)) {
      if (shown !== '' && at - end > 2 * AROUND) {
        if (isNew) yield ended();
        shown = '';
        isNew = false;
      }
      shown += text.slice(shown === '' ? Math.max(0, at - AROUND) : end, at);
      shown += [...inside].reverse().join('');
      end = behind;
      isNew ||= behind > from;
    }
    at = text.indexOf(RIGHT_TO_LEFT_OVERRIDE, behind);
  }
  if (isNew) yield ended();
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
