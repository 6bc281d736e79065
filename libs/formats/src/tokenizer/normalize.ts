/** Forms of Unicode normalisation that vocabularies ask for. */
export type UnicodeForm = 'NFC' | 'NFD' | 'NFKC' | 'NFKD';

/** UTF-16 units normalised at a time. */
const CHUNK_UNITS = 4_096;

/**
 * A longer run of marks is cut: sorting marks is quadratic in the length of a run, and text that somebody means has a
 * handful on a letter.
 */
const MARKS_UNITS = 1_024;

/** Below this every character is as each form wants it, and nothing there joins what precedes it. */
const FIRST_CHANGED: Readonly<Record<UnicodeForm, number>> = {
  NFC: 0x300,
  NFD: 0xc0,
  NFKC: 0xa0,
  NFKD: 0xa0,
};

/**
 * Text in a Unicode form, in time linear in its length; with a pause after every chunk. Runs of more than a thousand
 * marks are normalised in parts.
 */
export function* unicodeForm(text: string, form: UnicodeForm): Generator<void, string> {
  if (!mayChange(text, form)) return text;
  let out = '';
  for (let start = 0; start < text.length;) {
    const end = chunkEnd(text, start + CHUNK_UNITS);
    out += text.slice(start, end).normalize(form);
    start = end;
    if (start < text.length) yield;
  }
  return out;
}

function mayChange(text: string, form: UnicodeForm): boolean {
  const first = FIRST_CHANGED[form];
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) >= first) return true;
  return false;
}

/** The first place from `at` on where text can be cut without changing what it is normalised to. */
function chunkEnd(text: string, at: number): number {
  const last = Math.min(text.length, at + MARKS_UNITS);
  let end = at;
  while (end < last && joinsBackward(text, end)) end++;
  // Never between the halves of a pair.
  return end < text.length && isLowSurrogate(text.charCodeAt(end)) ? end + 1 : Math.min(end, text.length);
}

/** Whether the character at `at` may be joined to or sorted among those before it: marks, and vowels of Hangul. */
function joinsBackward(text: string, at: number): boolean {
  const unit = text.charCodeAt(at);
  if (unit < 0x300) return false;
  if (isLowSurrogate(unit) || (unit >= 0x1160 && unit <= 0x11ff)) return true;
  return /^\p{M}/u.test(text.slice(at, at + 2));
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
