import type { Detector } from './detectors.js';

/** Digits that stand together, as people group them: with single blanks or hyphens between. */
interface Digits {
  readonly digits: string;
  readonly written: string;
}

/** Longest number with its separators. */
const MOST_WRITTEN = 40;

/** What the numbers of a text are. Linear: no character is looked at by more than one number. */
export function personalNumbers(
  text: string,
  from: number,
  wants: (detector: Detector) => boolean,
): Set<Detector> {
  const found = new Set<Detector>();
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (isDigit(unit)) {
      const end = endOfNumber(text, at);
      // What ends among characters that were read before has been found then.
      if (end > from && isApart(text, at, end)) {
        const written = text.slice(at, end);
        classify(
          { written, digits: written.replaceAll(/[ -]/g, '') },
          text.slice(Math.max(0, at - 40), at),
          found,
        );
      }
      at = end - 1;
    } else if (isUpper(unit) && wants('iban')) {
      const end = endOfWord(text, at);
      const isStart = at === 0 || !isAlnum(text.charCodeAt(at - 1));
      if (isStart && end > from && end - at <= MOST_WRITTEN && isIban(text.slice(at, end))) found.add('iban');
      at = end - 1;
    }
  }
  return found;
}

function classify({ digits, written }: Digits, before: string, found: Set<Detector>): void {
  if (isCard(digits, written)) found.add('payment_card');
  if (/^\d{6}-?\d{7}$/.test(written) && isResidentNumber(digits)) found.add('kr_resident_number');
  if (
    /^(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}$/.test(written) &&
    /\bssn\b|social security/i.test(before)
  ) {
    found.add('us_ssn');
  }
}

function isDigit(unit: number): boolean {
  return unit >= 48 && unit <= 57;
}

function isUpper(unit: number): boolean {
  return unit >= 65 && unit <= 90;
}

function isAlnum(unit: number): boolean {
  return isDigit(unit) || isUpper(unit) || (unit >= 97 && unit <= 122);
}

function endOfNumber(text: string, start: number): number {
  let at = start;
  while (at < text.length) {
    if (isDigit(text.charCodeAt(at))) at += 1;
    else if (/[ -]/.test(text.charAt(at)) && isDigit(text.charCodeAt(at + 1))) at += 1;
    else break;
  }
  return at;
}

/** A number inside of an identifier, a decimal or a version is none of these. */
function isApart(text: string, start: number, end: number): boolean {
  const apart = (unit: number, next: number) =>
    !(
      isAlnum(unit) ||
      unit === 95 ||
      ((unit === 46 || unit === 45 || unit === 47 || unit === 58) && isAlnum(next))
    );
  return (
    end - start <= MOST_WRITTEN &&
    (start === 0 || apart(text.charCodeAt(start - 1), start > 1 ? text.charCodeAt(start - 2) : 0)) &&
    (end === text.length || apart(text.charCodeAt(end), text.charCodeAt(end + 1)))
  );
}

/** Visa, Mastercard and Discover have 16 digits in fours, American Express 15 in 4-6-5. Other lengths are mostly ids. */
function isCard(digits: string, written: string): boolean {
  const grouped = /^(\d{4}[ -]?\d{4}[ -]?\d{4}[ -]?\d{4}|\d{4}[ -]?\d{6}[ -]?\d{5})$/.test(written);
  const issuer = digits.length === 16 ? /^(4|5[1-5]|2[2-7]|6011|65)/ : /^3[47]/;
  return grouped && issuer.test(digits) && new Set(digits).size > 1 && luhn(digits);
}

function luhn(digits: string): boolean {
  let sum = 0;
  for (let at = 0; at < digits.length; at += 1) {
    const digit = digits.charCodeAt(digits.length - 1 - at) - 48;
    const doubled = at % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

const RESIDENT_WEIGHTS = [2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5];

/** Numbers given since October 2020 have no check digit and cannot be told from others. */
function isResidentNumber(digits: string): boolean {
  const month = Number(digits.slice(2, 4));
  const day = Number(digits.slice(4, 6));
  if (month < 1 || month > 12 || day < 1 || day > 31 || !/[1-8]/.test(digits.charAt(6))) return false;
  const sum = RESIDENT_WEIGHTS.reduce((total, weight, at) => total + weight * Number(digits.charAt(at)), 0);
  return (11 - (sum % 11)) % 10 === Number(digits.charAt(12));
}

function endOfWord(text: string, start: number): number {
  let at = start;
  while (
    at < text.length &&
    (isAlnum(text.charCodeAt(at)) || (text.charAt(at) === ' ' && isGrouped(text, at)))
  )
    at += 1;
  return at;
}

/** Whether a blank stands where people put one in an account number: between groups with a digit. */
function isGrouped(text: string, at: number): boolean {
  return (
    isDigit(text.charCodeAt(at - 1)) && (isDigit(text.charCodeAt(at + 1)) || isUpper(text.charCodeAt(at + 1)))
  );
}

function isIban(written: string): boolean {
  const compact = written.replaceAll(' ', '');
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(compact)) return false;
  let rest = 0;
  for (const character of compact.slice(4) + compact.slice(0, 4)) {
    const value = parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}
