/** What the o200k split pattern can tell apart about a character. */
export const CharClass = {
  /** Lu, Lt */
  Upper: 1,
  /** Ll */
  Lower: 2,
  /** Lm, Lo: letters that count as either case */
  Caseless: 3,
  /** M: joins words like a caseless letter, and symbols too */
  Mark: 4,
  /** N */
  Digit: 5,
  /** White space other than line breaks */
  Space: 6,
  /** CR, LF */
  Break: 7,
  Other: 8,
} as const;

/** Class by code point, filled as characters are first met: a table for all of Unicode costs nothing up front. */
const classes = new Uint8Array(0x110000);

/** Class of the code point; a lone surrogate counts as U+FFFD, which is `Other`. */
export function charClass(codePoint: number): number {
  const known = classes[codePoint] as number;
  return known !== 0 ? known : (classes[codePoint] = classify(String.fromCodePoint(codePoint)));
}

function classify(char: string): number {
  if (/[\r\n]/.test(char)) return CharClass.Break;
  // The pattern's \s is Unicode's White_Space, as in Rust: U+0085 is in and U+FEFF is out, unlike \s of JavaScript.
  if (/\p{White_Space}/u.test(char)) return CharClass.Space;
  if (/\p{Ll}/u.test(char)) return CharClass.Lower;
  if (/[\p{Lu}\p{Lt}]/u.test(char)) return CharClass.Upper;
  if (/[\p{Lm}\p{Lo}]/u.test(char)) return CharClass.Caseless;
  if (/\p{M}/u.test(char)) return CharClass.Mark;
  if (/\p{N}/u.test(char)) return CharClass.Digit;
  return CharClass.Other;
}
