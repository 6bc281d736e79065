/** Most entries of an automaton's table: 128 MB. */
const MAX_TABLE = 32 * 1024 * 1024;
/** Class of units that no pattern has: they lead back to the start. */
const OTHER = 0;

/** A pattern of an automaton. */
export interface Pattern {
  readonly text: string;
  /** What a match is reported as. */
  readonly id: number;
  /** Whether text that may become a match must not be shown yet. */
  readonly holds: boolean;
}

/**
 * Aho-Corasick over UTF-16 units, as a table: one look-up a unit whatever the text is, so that no text is slower than
 * another. Built in one pass over the patterns and one over the table.
 *
 * A state is a number that can be kept and gone on from. {@link depth} units behind it are all that it depends on: two
 * runs over the same text are in the same state once they have read more than that.
 */
export class Automaton {
  static readonly START = 0;
  /** Units of the longest match that the text up to a state may be the beginning of. */
  readonly depth: Uint16Array;
  /** The same, of patterns that hold text back. */
  readonly held: Uint16Array;
  readonly #classes: Uint16Array;
  readonly #width: number;
  readonly #next: Int32Array;
  /** Pattern that ends at a state, or -1; and the next shorter state where one ends. */
  readonly #ends: Int32Array;
  readonly #shorter: Int32Array;

  /** @throws RangeError when the patterns take more memory than they may, or one is longer than 65,535 units */
  constructor(patterns: readonly Pattern[]) {
    const { classes, width } = classesOf(patterns);
    const most = patterns.reduce((sum, { text }) => sum + text.length, 1);
    if (most * width > MAX_TABLE) {
      throw new RangeError(`${patterns.length} patterns with ${width} different characters are too many.`);
    }
    this.#classes = classes;
    this.#width = width;
    this.#next = new Int32Array(most * width);
    this.#ends = new Int32Array(most).fill(-1);
    this.#shorter = new Int32Array(most);
    this.depth = new Uint16Array(most);
    this.held = new Uint16Array(most);
    const own = this.#addAll(patterns);
    this.#link(own);
  }

  /** The state behind one more unit. */
  step(state: number, unit: number): number {
    return this.#next[state * this.#width + (this.#classes[unit] ?? OTHER)] ?? 0;
  }

  /** Whether a pattern ends at this state. */
  matches(state: number): boolean {
    return (this.#ends[state] ?? -1) !== -1 || (this.#shorter[state] ?? 0) !== 0;
  }

  /** Ids of the patterns that end at this state, longest first. */
  *matchesAt(state: number): Generator<number> {
    for (let at = state; at !== 0; at = this.#shorter[at] ?? 0) {
      const id = this.#ends[at] ?? -1;
      if (id !== -1) yield id;
    }
  }

  /** Puts the patterns into a tree; returns whether each state leads to one that holds. */
  #addAll(patterns: readonly Pattern[]): Uint8Array {
    const holds = new Uint8Array(this.depth.length);
    let states = 1;
    for (const { text, id, holds: doesHold } of patterns) {
      if (text === '' || text.length > 0xffff) throw new RangeError('A pattern has 1 to 65,535 characters.');
      let state = 0;
      for (let at = 0; at < text.length; at += 1) {
        const edge = state * this.#width + (this.#classes[text.charCodeAt(at)] ?? OTHER);
        let to = this.#next[edge] ?? 0;
        if (to === 0) {
          to = states++;
          this.#next[edge] = to;
          this.depth[to] = at + 1;
        }
        if (doesHold) holds[to] = 1;
        state = to;
      }
      if (this.#ends[state] === -1) this.#ends[state] = id;
    }
    return holds;
  }

  /** Breadth first: where a state has no edge it goes where the longest shorter one does. */
  #link(holds: Uint8Array): void {
    const width = this.#width;
    const next = this.#next;
    const fail = new Int32Array(this.depth.length);
    const queue = new Int32Array(this.depth.length);
    let tail = 0;
    for (let edge = 0; edge < width; edge += 1) if (next[edge] !== 0) queue[tail++] = next[edge] ?? 0;
    for (let head = 0; head < tail; head += 1) {
      const state = queue[head] ?? 0;
      const shorter = fail[state] ?? 0;
      this.#shorter[state] = this.#ends[shorter] === -1 ? (this.#shorter[shorter] ?? 0) : shorter;
      this.held[state] = holds[state] === 1 ? (this.depth[state] ?? 0) : (this.held[shorter] ?? 0);
      for (let edge = 0; edge < width; edge += 1) {
        const at = state * width + edge;
        const otherwise = next[shorter * width + edge] ?? 0;
        const to = next[at] ?? 0;
        if (to === 0) next[at] = otherwise;
        else {
          fail[to] = otherwise;
          queue[tail++] = to;
        }
      }
    }
  }
}

/** A class for each unit that a pattern has, so that the table is as wide as the patterns are varied. */
function classesOf(patterns: readonly Pattern[]): { classes: Uint16Array; width: number } {
  const classes = new Uint16Array(0x10000);
  let width = 1;
  for (const { text } of patterns) {
    for (let at = 0; at < text.length; at += 1) {
      const unit = text.charCodeAt(at);
      if (classes[unit] === OTHER) classes[unit] = width++;
    }
  }
  return { classes, width };
}
