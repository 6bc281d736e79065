import { CharClass, charClass } from './char-class.js';

const { Upper, Lower, Caseless, Mark, Digit, Space, Break, Other } = CharClass;

/**
 * The split pattern of o200k that `pieceEnd` follows. It is a scanner and not a RegExp because JavaScript has no
 * inline (?i:), disagrees on \s, and overflows the backtrack stack of a RegExp on megabytes of one character.
 */
export const O200K_PATTERN = [
  "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
  "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
  '\\p{N}{1,3}',
  ' ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*',
  '\\s*[\\r\\n]+',
  '\\s+(?!\\S)',
  '\\s+',
].join('|');

/**
 * Where the piece of `text` that begins at `start` (< text.length) ends. Offsets are UTF-16 units. Each character
 * is looked at a bounded number of times over a whole text, whatever it holds.
 */
export function pieceEnd(text: string, start: number): number {
  const first = codePointAt(text, start);
  const kind = charClass(first);
  const second = start + width(first);
  if (kind === Digit) return digitsEnd(text, second);
  if (kind !== Break) {
    const end = wordEnd(text, start, kind, second);
    if (end > start) return end;
  }
  if (kind === Other) return symbolsEnd(text, second);
  if (first === 0x20 && second < text.length) {
    const next = codePointAt(text, second);
    if (charClass(next) === Other) return symbolsEnd(text, second + width(next));
  }
  return spaceEnd(text, start);
}

/**
 * The two letter alternatives at once; `start` when neither matches. `kind` is the class at `start`, `second` the
 * offset after that character.
 */
function wordEnd(text: string, start: number, kind: number, second: number): number {
  const isLetter = kind === Upper || kind === Lower || kind === Caseless;
  // Anything but a letter, digit or line break may lead the word.
  const from = isLetter ? start : second;
  let end = from;
  let afterEitherCase = -1;
  let next: number = Other;
  while (end < text.length) {
    const codePoint = codePointAt(text, end);
    next = charClass(codePoint);
    if (next !== Upper && next !== Caseless && next !== Mark) break;
    end += width(codePoint);
    if (next !== Upper) afterEitherCase = end;
    next = Other;
  }
  if (next === Lower) {
    while (end < text.length) {
      const codePoint = codePointAt(text, end);
      next = charClass(codePoint);
      if (next !== Lower && next !== Caseless && next !== Mark) break;
      end += width(codePoint);
    }
  } else if (afterEitherCase >= 0) {
    // The first alternative wants a lower or caseless end: capitals after the last such character start a new piece.
    end = afterEitherCase;
  } else if (kind === Mark) {
    end = second;
  } else if (end === from) {
    return start;
  }
  return end + contractionLength(text, end);
}

/** Length of `'s 't 're 've 'm 'll 'd` in any case at `at`; s folds with U+017F as well. */
function contractionLength(text: string, at: number): number {
  if (text.charCodeAt(at) !== 0x27) return 0;
  switch (text.charAt(at + 1)) {
    case 's':
    case 'S':
    case 'ſ':
    case 't':
    case 'T':
    case 'm':
    case 'M':
    case 'd':
    case 'D':
      return 2;
    case 'r':
    case 'R':
    case 'v':
    case 'V':
      return /[eE]/.test(text.charAt(at + 2)) ? 3 : 0;
    case 'l':
    case 'L':
      return /[lL]/.test(text.charAt(at + 2)) ? 3 : 0;
    default:
      return 0;
  }
}

/** At most three digits, one of which stands before `at`. */
function digitsEnd(text: string, at: number): number {
  for (let count = 1; count < 3 && at < text.length; count++) {
    const codePoint = codePointAt(text, at);
    if (charClass(codePoint) !== Digit) break;
    at += width(codePoint);
  }
  return at;
}

/** Symbols and marks from `at` on, then line breaks and slashes. */
function symbolsEnd(text: string, at: number): number {
  while (at < text.length) {
    const codePoint = codePointAt(text, at);
    const kind = charClass(codePoint);
    if (kind !== Other && kind !== Mark) break;
    at += width(codePoint);
  }
  for (; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit !== 0x0a && unit !== 0x0d && unit !== 0x2f) break;
  }
  return at;
}

/** White space: up to its last line break, or else all but the last character when something follows. */
function spaceEnd(text: string, start: number): number {
  let at = start;
  let afterBreak = -1;
  for (; at < text.length; at++) {
    // White space lies in the basic plane, one unit each.
    const kind = charClass(text.charCodeAt(at));
    if (kind === Break) afterBreak = at + 1;
    else if (kind !== Space) break;
  }
  if (afterBreak >= 0) return afterBreak;
  return at === text.length || at === start + 1 ? at : at - 1;
}

function codePointAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  return unit < 0xd800 || unit > 0xdbff ? unit : (text.codePointAt(at) as number);
}

function width(codePoint: number): number {
  return codePoint > 0xffff ? 2 : 1;
}
