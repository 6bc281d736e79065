import { CONFUSABLES } from './confusables.js';

/** Of a table: the unit is left out. */
export const DROPPED = 0;
/** Of a table: what becomes of the unit is more than one unit, or depends on the one behind it. */
const SPECIAL = 0xffff;
const PAGE = 256;

/** Digits and letters that stand for each other, as in "1gn0re" and "lGNORE". */
const ALIKE: Readonly<Record<string, string>> = {
  '0': 'o',
  '1': 'i',
  l: 'i',
  '3': 'e',
  '4': 'a',
  '5': 's',
  '7': 't',
};
/** Marks that belong to no script: accents, not vowels of Indic scripts. */
const ACCENT = /^\p{Mn}$/u;
const INHERITED = /^\p{Script=Inherited}$/u;
const READ = /^[\p{L}\p{N}\p{M}]$/u;
const IGNORABLE = /^\p{Default_Ignorable_Code_Point}$/u;

/**
 * A text as it is read, whatever it is written with: letters and digits alone, in one case, width and alphabet. Spaces,
 * punctuation, accents and everything that cannot be seen are left out, compatibility forms are what they stand for
 * (NFKD, which NFKC says the same as), look-alikes are the letter that they look like.
 *
 * Every character is folded by itself, so that a text can be folded in pieces.
 */
export function fold(text: string): string {
  let folded = '';
  for (const character of text) folded += foldCharacter(character);
  return folded;
}

function foldCharacter(character: string): string {
  if (IGNORABLE.test(character)) return '';
  let folded = '';
  for (const part of character.normalize('NFKD').toLowerCase().normalize('NFKD')) {
    if (ACCENT.test(part) && INHERITED.test(part)) continue;
    const letter = CONFUSABLES.get(part) ?? part;
    if (READ.test(letter)) folded += ALIKE[letter] ?? letter;
  }
  return folded;
}

/** Tables by page of 256 units, each made when the first text needs it. */
const pages: (Uint16Array | undefined)[] = new Array<undefined>(0x10000 / PAGE);
/** Folded forms that are not one unit; at most one for each character there is. */
const long = new Map<number, string>();

function pageOf(number: number): Uint16Array {
  const page = new Uint16Array(PAGE);
  for (let at = 0; at < PAGE; at += 1) {
    const unit = number * PAGE + at;
    const isSurrogate = unit >= 0xd800 && unit <= 0xdfff;
    const folded = isSurrogate ? undefined : foldCharacter(String.fromCharCode(unit));
    page[at] = folded === '' ? DROPPED : folded?.length === 1 ? folded.charCodeAt(0) : SPECIAL;
  }
  pages[number] = page;
  return page;
}

/** The folded unit; {@link DROPPED}, or undefined where {@link foldedAt} says more. */
export function foldedUnit(unit: number): number | undefined {
  const folded = (pages[unit >> 8] ?? pageOf(unit >> 8))[unit & 0xff];
  return folded === SPECIAL ? undefined : folded;
}

/** What a character is folded to that is more than one unit before or after. */
export function foldedForm(codePoint: number): string {
  let form = long.get(codePoint);
  if (form === undefined) {
    form = foldCharacter(String.fromCodePoint(codePoint));
    // Characters beyond the first plane that are not letters in disguise fold to themselves: nothing to remember.
    if (codePoint < 0x20000) long.set(codePoint, form);
  }
  return form;
}

export function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

export function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
