import { CharBits, isSpace, propertyTest, type CharTest } from './char-set.js';

/** A run of characters of one class, as many as there are up to `max`. */
export interface RunItem {
  readonly kind: 'run';
  /** Index of the class among the tests of the pattern. */
  readonly test: number;
  readonly min: number;
  /** Infinity for `*` and `+`. */
  readonly max: number;
  /** Whether it never gives characters back. */
  readonly possessive: boolean;
}

/** One of several words, each a list of classes, in this order. */
export interface WordsItem {
  readonly kind: 'words';
  readonly words: readonly (readonly number[])[];
  readonly optional: boolean;
}

/** What may follow: a character of the class (or none of it), or the end of the text. */
export type PeekItem =
  { readonly kind: 'peek'; readonly test: number; readonly negated: boolean } | { readonly kind: 'end' };

export type PatternItem = RunItem | WordsItem | PeekItem;

/** A pattern as the list of its alternatives. */
export interface SplitPattern {
  readonly alternatives: readonly (readonly PatternItem[])[];
  /** The character classes that occur. */
  readonly tests: readonly CharTest[];
}

/** A pattern that cannot be run in linear time, or that is written in a way not known here. */
export class UnsupportedPatternError extends Error {
  constructor(pattern: string, why: string) {
    super(`The split pattern ${JSON.stringify(pattern)} is not supported: ${why}`);
  }
}

/**
 * Reads a split pattern in the dialect of Rust and Oniguruma, which vocabularies use: alternatives of quantified
 * character classes, groups of words, `(?!class)`, `(?=class)` and `$`. That is what pre-tokenizers are made of, and it
 * is little enough to be matched in linear time ({@link SplitMatcher}), which no RegExp promises.
 * @throws UnsupportedPatternError for anything else.
 */
export function parseSplitPattern(pattern: string): SplitPattern {
  return new PatternReader(pattern).read();
}

class PatternReader {
  private at = 0;
  private readonly tests: CharTest[] = [];
  private readonly known = new Map<string, number>();

  constructor(private readonly pattern: string) {}

  read(): SplitPattern {
    const alternatives: PatternItem[][] = [];
    do alternatives.push(this.alternative());
    while (this.take('|'));
    if (this.at < this.pattern.length) this.fail(`unexpected "${this.pattern.charAt(this.at)}"`);
    if (alternatives.length > CharBits.MAX_TESTS) this.fail('too many alternatives');
    if (this.tests.length > CharBits.MAX_TESTS) this.fail('too many character classes');
    for (const items of alternatives) this.check(items);
    return { alternatives, tests: this.tests };
  }

  /** What keeps matching linear: one place in an alternative that may have to be tried again and again. */
  private check(items: readonly PatternItem[]): void {
    if (items.every(canBeEmpty)) this.fail('an alternative matches nothing');
    const retried = items.filter(
      (item, index) => item.kind === 'run' && item.max === Infinity && items.slice(index + 1).some(canFail),
    );
    if (retried.length > 1) this.fail('two repetitions follow each other that may both have to be retried');
  }

  private alternative(): PatternItem[] {
    const items: PatternItem[] = [];
    while (this.at < this.pattern.length && !'|)'.includes(this.pattern.charAt(this.at))) {
      items.push(this.item());
    }
    return items;
  }

  private item(): PatternItem {
    if (this.take('$')) return { kind: 'end' };
    if (this.take('(?!')) return this.peek(true);
    if (this.take('(?=')) return this.peek(false);
    if (this.take('(?i:')) return this.words(true);
    if (this.take('(?:')) return this.words(false);
    if (this.pattern.startsWith('(?', this.at)) this.fail('a group of this kind');
    if (this.take('(')) return this.words(false);
    const test = this.single(false);
    const [min, max] = this.quantifier();
    return { kind: 'run', test, min, max, possessive: this.possessive(min, max) };
  }

  private peek(negated: boolean): PeekItem {
    const test = this.single(false);
    if (!this.take(')')) this.fail('looking at more than one character');
    return { kind: 'peek', test, negated };
  }

  private words(ignoreCase: boolean): WordsItem {
    const words: number[][] = [];
    do {
      const word: number[] = [];
      while (this.at < this.pattern.length && !'|)'.includes(this.pattern.charAt(this.at)))
        word.push(this.single(ignoreCase));
      if (word.length === 0) this.fail('an empty word');
      words.push(word);
    } while (this.take('|'));
    if (!this.take(')')) this.fail('a group that holds more than words');
    const [min, max] = this.quantifier();
    if (max !== 1) this.fail('a repeated group');
    return { kind: 'words', words, optional: min === 0 };
  }

  private quantifier(): [min: number, max: number] {
    if (this.take('?')) return [0, 1];
    if (this.take('*')) return [0, Infinity];
    if (this.take('+')) return [1, Infinity];
    const counted = /^\{(\d+)(?:(,)(\d*))?\}/.exec(this.pattern.slice(this.at));
    if (counted === null) return [1, 1];
    this.at += counted[0].length;
    const min = Number(counted[1]);
    if (counted[2] === undefined) return [min, min];
    return [min, counted[3] === '' ? Infinity : Number(counted[3])];
  }

  private possessive(min: number, max: number): boolean {
    if (min === 1 && max === 1) return false;
    if (this.pattern.charAt(this.at) === '?') this.fail('a lazy repetition');
    return this.take('+');
  }

  /** One character or class; the number of its test. */
  private single(ignoreCase: boolean): number {
    const from = this.at;
    if ('.^*+?{'.includes(this.pattern.charAt(from))) this.fail(`unexpected "${this.pattern.charAt(from)}"`);
    const test = this.take('[') ? this.bracket(ignoreCase) : this.atom(ignoreCase).test;
    const key = (ignoreCase ? 'i' : '') + this.pattern.slice(from, this.at);
    const known = this.known.get(key);
    if (known !== undefined) return known;
    this.known.set(key, this.tests.length);
    return this.tests.push(test) - 1;
  }

  /** The rest of a class in brackets: a union of characters, ranges and classes, or an intersection of such. */
  private bracket(ignoreCase: boolean): CharTest {
    const negated = this.take('^');
    const unions: CharTest[][] = [[]];
    while (!this.take(']')) {
      if (this.at >= this.pattern.length) this.fail('a class that does not end');
      const union = unions[unions.length - 1] as CharTest[];
      if (this.take('&&')) unions.push([]);
      else if (this.pattern.startsWith('[:', this.at)) this.fail('a class of this kind');
      else if (this.take('[')) union.push(this.bracket(ignoreCase));
      else union.push(this.member(ignoreCase));
    }
    return (codePoint) => unions.every((union) => union.some((test) => test(codePoint))) !== negated;
  }

  private member(ignoreCase: boolean): CharTest {
    const { test, codePoint } = this.atom(ignoreCase);
    const rest = this.pattern.slice(this.at, this.at + 2);
    if (codePoint === undefined || !rest.startsWith('-') || rest === '-]') return test;
    this.at++;
    const last = this.atom(ignoreCase).codePoint;
    if (last === undefined || ignoreCase) this.fail('a range of this kind');
    return (other) => other >= codePoint && other <= last;
  }

  private atom(ignoreCase: boolean): { test: CharTest; codePoint?: number } {
    const codePoint = this.next();
    if (codePoint !== 0x5c) return { test: charTest(codePoint, ignoreCase), codePoint };
    const escaped = String.fromCodePoint(this.next());
    const control = CONTROLS[escaped];
    if (control !== undefined) return { test: charTest(control, false), codePoint: control };
    if (escaped === 's') return { test: isSpace };
    if (escaped === 'S') return { test: (other) => !isSpace(other) };
    if (escaped === 'd' || escaped === 'D') return { test: this.property('Nd', escaped === 'D') };
    if (escaped === 'p' || escaped === 'P')
      return { test: this.property(this.propertyName(), escaped === 'P') };
    if (/[A-Za-z0-9]/.test(escaped)) this.fail(`"\\${escaped}"`);
    const literal = escaped.codePointAt(0) as number;
    return { test: charTest(literal, ignoreCase), codePoint: literal };
  }

  private propertyName(): string {
    const braced = /^\{([\w=]+)\}/.exec(this.pattern.slice(this.at));
    if (braced === null) return String.fromCodePoint(this.next());
    this.at += braced[0].length;
    return braced[1] as string;
  }

  private property(name: string, negated: boolean): CharTest {
    return propertyTest(name, negated) ?? this.fail(`the property ${name}`);
  }

  private next(): number {
    const codePoint = this.pattern.codePointAt(this.at);
    if (codePoint === undefined) this.fail('it breaks off');
    this.at += codePoint > 0xffff ? 2 : 1;
    return codePoint;
  }

  private take(text: string): boolean {
    if (!this.pattern.startsWith(text, this.at)) return false;
    this.at += text.length;
    return true;
  }

  private fail(why: string): never {
    throw new UnsupportedPatternError(this.pattern, why);
  }
}

const CONTROLS: Readonly<Record<string, number | undefined>> = {
  r: 0x0d,
  n: 0x0a,
  t: 0x09,
  v: 0x0b,
  f: 0x0c,
};

function charTest(codePoint: number, ignoreCase: boolean): CharTest {
  if (!ignoreCase) return (other) => other === codePoint;
  const char = String.fromCodePoint(codePoint);
  // `i` with `u` folds as Unicode says: s is U+017F as well.
  const expression = new RegExp(`^${char.replace(/[\\^$.*+?()[\]{}|/-]/, '\\$&')}$`, 'iu');
  return (other) => expression.test(String.fromCodePoint(other));
}

function canBeEmpty(item: PatternItem): boolean {
  return item.kind === 'run' ? item.min === 0 : item.kind !== 'words' || item.optional;
}

/** Whether an item may fail to match at some place. */
export function canFail(item: PatternItem): boolean {
  return item.kind === 'run' ? item.min > 0 : item.kind !== 'words' || !item.optional;
}
