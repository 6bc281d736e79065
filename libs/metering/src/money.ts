/** Nano-dollars in a dollar. Every amount is a whole number of nano-dollars. */
export const NANO_PER_DOLLAR = 1_000_000_000n;

const MOST = BigInt(Number.MAX_SAFE_INTEGER);
/** Most digits behind the point of a price or factor. */
const DIGITS = 9;
const DECIMAL = /^(\d{1,12})(?:\.(\d{1,9}))?$/;

/**
 * A decimal number that is not negative, times 10^9, exactly.
 * @param value as written: a string, or a number that YAML has read
 * @throws RangeError for anything else, and for more than nine digits behind the point
 */
export function scaled(value: string | number): bigint {
  const match = DECIMAL.exec(String(value));
  if (match === null) {
    throw new RangeError(
      `must be a decimal number that is not negative, with at most ${DIGITS} digits behind the point (quote very small ones)`,
    );
  }
  const [, whole = '', fraction = ''] = match;
  return BigInt(whole + fraction.padEnd(DIGITS, '0'));
}

/** Whether an amount is one that a row can hold. */
export function fitsRow(nano: bigint): boolean {
  return nano >= -MOST && nano <= MOST;
}

/**
 * An amount as it goes into a row: a number that JSON and both databases hold exactly.
 * @throws RangeError beyond 2^53 nano-dollars, which are nine million dollars
 */
export function rowAmount(nano: bigint): number {
  if (!fitsRow(nano)) throw new RangeError(`an amount of ${nano} nano-dollars is out of range`);
  return Number(nano);
}

/** An amount in dollars, exactly and without an exponent: `0.184918125`, `-12.5`, `0`. */
export function dollars(nano: bigint | number): string {
  const value = BigInt(nano);
  const digits = (value < 0n ? -value : value).toString().padStart(DIGITS + 1, '0');
  const fraction = digits.slice(-DIGITS).replace(/0+$/, '');
  return `${value < 0n ? '-' : ''}${digits.slice(0, -DIGITS)}${fraction === '' ? '' : `.${fraction}`}`;
}

/** `numerator / denominator`, rounded to the nearest whole number, halves up. Neither is negative. */
export function roundedQuotient(numerator: bigint, denominator: bigint): bigint {
  return (2n * numerator + denominator) / (2n * denominator);
}
