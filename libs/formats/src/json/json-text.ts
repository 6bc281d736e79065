import { floatText, isFloat } from './number-text.js';

/**
 * JSON as it was written: the order of keys and the text of numbers are kept, which `JSON.parse` loses (`{"2":1,"1":2}`,
 * `1.0`, `12345678901234567890`).
 */
export type JsonTree = JsonNumber | string | boolean | null | readonly JsonTree[] | JsonEntries;
export type JsonEntries = ReadonlyMap<string, JsonTree>;

/** A number, as Python writes the one that this text stands for. */
export interface JsonNumber {
  readonly number: string;
}

/** Deeper JSON is not read: no template could be asked to write it. */
const MAX_DEPTH = 400;

export function isEntries(tree: JsonTree): tree is JsonEntries {
  return tree instanceof Map;
}
export function isNumber(tree: JsonTree): tree is JsonNumber {
  return typeof tree === 'object' && tree !== null && 'number' in tree;
}

/** Reads JSON; undefined when `text` is none. O(text). Of two equal keys the value of the last counts, as in Python. */
export function readJson(text: string): JsonTree | undefined {
  try {
    return new Reader(text).read();
  } catch (thrown) {
    if (thrown instanceof NotJson) return undefined;
    throw thrown;
  }
}

class NotJson extends Error {}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORDS = new Map<string, JsonTree>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

class Reader {
  #at = 0;

  constructor(private readonly text: string) {}

  read(): JsonTree {
    const tree = this.#value(0);
    this.#space();
    if (this.#at !== this.text.length) throw new NotJson();
    return tree;
  }

  #value(depth: number): JsonTree {
    if (depth > MAX_DEPTH) throw new NotJson();
    this.#space();
    switch (this.text.charAt(this.#at)) {
      case '{':
        return this.#object(depth);
      case '[':
        return this.#array(depth);
      case '"':
        return this.#string();
      default:
        return this.#wordOrNumber();
    }
  }

  #object(depth: number): JsonTree {
    const entries = new Map<string, JsonTree>();
    this.#at += 1;
    if (this.#takes('}')) return entries;
    do {
      this.#space();
      const key = this.#string();
      if (!this.#takes(':')) throw new NotJson();
      entries.set(key, this.#value(depth + 1));
    } while (this.#takes(','));
    if (!this.#takes('}')) throw new NotJson();
    return entries;
  }

  #array(depth: number): JsonTree {
    const items: JsonTree[] = [];
    this.#at += 1;
    if (this.#takes(']')) return items;
    do items.push(this.#value(depth + 1));
    while (this.#takes(','));
    if (!this.#takes(']')) throw new NotJson();
    return items;
  }

  #string(): string {
    if (this.text[this.#at] !== '"') throw new NotJson();
    let end = this.#at + 1;
    for (; this.text[end] !== '"'; end++) {
      if (end >= this.text.length) throw new NotJson();
      if (this.text[end] === '\\') end += 1;
    }
    const written = this.text.slice(this.#at, end + 1);
    this.#at = end + 1;
    return stringOf(written);
  }

  #number(): JsonTree {
    const text = this.#match(NUMBER);
    // An integer has no sign in front of zero; `-0.0` keeps it.
    return { number: isFloat(text) ? floatText(Number(text)) : text === '-0' ? '0' : text };
  }

  #wordOrNumber(): JsonTree {
    for (const [word, tree] of WORDS) {
      if (!this.text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return tree;
    }
    return this.#number();
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.text) ?? [];
    if (found === undefined) throw new NotJson();
    this.#at += found.length;
    return found;
  }

  #takes(mark: string): boolean {
    this.#space();
    if (this.text[this.#at] !== mark) return false;
    this.#at += 1;
    return true;
  }

  #space(): void {
    while (' \t\n\r'.includes(this.text[this.#at] ?? '.')) this.#at += 1;
  }
}

function stringOf(written: string): string {
  try {
    return JSON.parse(written) as string;
  } catch {
    throw new NotJson();
  }
}
