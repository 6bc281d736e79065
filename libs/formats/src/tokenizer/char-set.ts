/** Whether a code point belongs to a set. */
export type CharTest = (codePoint: number) => boolean;

/** A test for one `\p{...}` (or `\P{...}`) of the patterns that come with vocabularies; a bare name may be a script. */
export function propertyTest(name: string, negated: boolean): CharTest | undefined {
  for (const property of [name, `Script=${name}`]) {
    try {
      const expression = new RegExp(`\\p{${property}}`, 'u');
      return (codePoint) => expression.test(String.fromCodePoint(codePoint)) !== negated;
    } catch {
      // Not a property of this kind.
    }
  }
  return undefined;
}

/** Unicode's White_Space, which is what \s means in those patterns: U+0085 is in and U+FEFF is out. */
export const isSpace: CharTest = (codePoint) => /\p{White_Space}/u.test(String.fromCodePoint(codePoint));

/** Code points as text has them: a lone surrogate counts as U+FFFD. */
export function codePointAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (unit < 0xd800 || unit > 0xdfff) return unit;
  const codePoint = text.codePointAt(at) as number;
  return codePoint > 0xffff ? codePoint : 0xfffd;
}

/** UTF-16 units of a code point. */
export function unitsOf(codePoint: number): number {
  return codePoint > 0xffff ? 2 : 1;
}

const PAGE = 256;
const FILLED = 0x80000000;

/** Answers up to 31 tests about a code point at once, as bits; each code point is tested when it is first met. */
export class CharBits {
  static readonly MAX_TESTS = 31;
  private readonly pages: (Uint32Array | undefined)[] = [];

  constructor(private readonly tests: readonly CharTest[]) {}

  /** Bit i is set when test i holds. */
  of(codePoint: number): number {
    const page = (this.pages[codePoint >> 8] ??= new Uint32Array(PAGE));
    const known = page[codePoint & (PAGE - 1)] as number;
    return known !== 0 ? known : (page[codePoint & (PAGE - 1)] = this.compute(codePoint));
  }

  private compute(codePoint: number): number {
    let bits = FILLED;
    for (const [bit, test] of this.tests.entries()) if (test(codePoint)) bits |= 1 << bit;
    return bits >>> 0;
  }
}
