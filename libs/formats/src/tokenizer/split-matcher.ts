import { CharBits, codePointAt, unitsOf } from './char-set.js';
import { canFail, type PatternItem, type RunItem, type SplitPattern } from './split-pattern.js';

/** An alternative, with what is needed at each of its items. */
interface Alternative {
  readonly items: readonly PatternItem[];
  /** By item: whether something after it may fail, so that it may have to give characters back. */
  readonly retried: readonly boolean[];
}

/** A compiled split pattern; one serves any number of texts. */
export class SplitMatcher {
  readonly alternatives: readonly Alternative[];
  /** Bit i: the character belongs to class i of the pattern. */
  readonly classes: CharBits;
  /** Bit i: alternative i may begin with the character. */
  readonly starts: CharBits;

  constructor(pattern: SplitPattern) {
    this.alternatives = pattern.alternatives.map((items) => ({
      items,
      retried: items.map((_, index) => items.slice(index + 1).some(canFail)),
    }));
    const classes = new CharBits(pattern.tests);
    this.classes = classes;
    this.starts = new CharBits(
      pattern.alternatives.map((items) => (codePoint) => mayStart(items, classes.of(codePoint))),
    );
  }
}

function mayStart(items: readonly PatternItem[], bits: number): boolean {
  for (const item of items) {
    if (item.kind === 'peek' || item.kind === 'end') return true;
    const tests = item.kind === 'run' ? [item.test] : item.words.map(([first]) => first as number);
    if (tests.some((test) => (bits & (1 << test)) !== 0)) return true;
    if (canFail(item)) return false;
  }
  return true;
}

/**
 * Matches a pattern in one text, as a backtracking RegExp would, in time linear in the text: an alternative has at most
 * one repetition that may have to give characters back, and where all of a run failed is remembered, so that no run is
 * tried twice.
 */
export class MatchCursor {
  private end = -1;
  /** By alternative: the run of its retried repetition that failed last, from and to. */
  private readonly failedFrom: Int32Array;
  private readonly failedTo: Int32Array;

  constructor(
    private readonly matcher: SplitMatcher,
    private readonly text: string,
  ) {
    this.failedFrom = new Int32Array(matcher.alternatives.length);
    this.failedTo = new Int32Array(matcher.alternatives.length).fill(-1);
  }

  /** Where the match that begins at `at` ends, or -1; nothing from `end` on is seen. */
  match(at: number, end: number): number {
    if (end !== this.end) {
      this.end = end;
      this.failedTo.fill(-1);
    }
    let possible = this.matcher.starts.of(codePointAt(this.text, at)) & 0x7fffffff;
    while (possible !== 0) {
      const index = 31 - Math.clz32(possible & -possible);
      possible &= possible - 1;
      const matched = this.matchFrom(index, 0, at);
      if (matched > at) return matched;
    }
    return -1;
  }

  private matchFrom(alternative: number, index: number, from: number): number {
    const { items, retried } = this.matcher.alternatives[alternative] as Alternative;
    let at = from;
    for (let i = index; i < items.length; i++) {
      const item = items[i] as PatternItem;
      if (item.kind === 'run') {
        if (retried[i] === true) return this.matchRetried(alternative, i, item, at);
        at = this.runEnd(item, at);
        if (at < 0) return -1;
      } else if (item.kind === 'words') {
        for (const word of item.words) {
          const after = this.wordEnd(word, at);
          const matched = after < 0 ? -1 : this.matchFrom(alternative, i + 1, after);
          if (matched >= 0) return matched;
        }
        if (!item.optional) return -1;
      } else if (item.kind === 'end') {
        if (at !== this.end) return -1;
      } else if (this.isNext(item.test, at) === item.negated) {
        return -1;
      }
    }
    return at;
  }

  /** A repetition and all behind it: the longest first, as long as something behind it fails. */
  private matchRetried(alternative: number, index: number, item: RunItem, from: number): number {
    const remembered = item.max === Infinity;
    if (remembered && from >= (this.failedFrom[alternative] as number)) {
      if (from <= (this.failedTo[alternative] as number)) return -1;
    }
    const last = this.runEnd(item, from);
    if (last < 0) return -1;
    const least = this.runEnd({ ...item, max: item.min }, from);
    for (let at = last; ; at -= this.unitsBefore(at)) {
      const matched = this.matchFrom(alternative, index + 1, at);
      if (matched >= 0) return matched;
      if (at <= least || item.possessive) break;
    }
    if (remembered) {
      this.failedFrom[alternative] = from;
      this.failedTo[alternative] = last;
    }
    return -1;
  }

  private runEnd({ test, min, max }: Pick<RunItem, 'test' | 'min' | 'max'>, from: number): number {
    const { text, end } = this;
    const bit = 1 << test;
    const { classes } = this.matcher;
    let at = from;
    let count = 0;
    while (count < max && at < end) {
      const codePoint = codePointAt(text, at);
      if ((classes.of(codePoint) & bit) === 0) break;
      at += unitsOf(codePoint);
      count++;
    }
    return count < min ? -1 : at;
  }

  private wordEnd(word: readonly number[], from: number): number {
    let at = from;
    for (const test of word) {
      if (!this.isNext(test, at)) return -1;
      at += unitsOf(codePointAt(this.text, at));
    }
    return at;
  }

  private isNext(test: number, at: number): boolean {
    return at < this.end && (this.matcher.classes.of(codePointAt(this.text, at)) & (1 << test)) !== 0;
  }

  private unitsBefore(at: number): number {
    return at >= 2 && codePointAt(this.text, at - 2) > 0xffff ? 2 : 1;
  }
}
