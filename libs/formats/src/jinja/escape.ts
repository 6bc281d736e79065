import type { Piece } from '../format.js';
import { isEntries, isNumber, type JsonTree } from '../json/json-text.js';
import type { Tokenizer } from '../tokenizer/types.js';

/** Private-use characters that stand in for what must come through a template unread. */
const FIRST = 0xe000;
/** How many they are. */
const CHARACTERS = 0x18f0;
/** Before keys that JavaScript would put in another order. */
const KEY = '\uf8fd';
/** Around the text of a number that JavaScript would write otherwise. */
const NUMBER = '\uf8fe';
/** Before a private-use character of the text itself. */
const OWN = '\uf8ff';

/** Words that templates look for in schemas, which have to come through as they are. */
const SCHEMA_WORDS = new Set(
  (
    'type properties required description enum items default title name parameters function anyOf oneOf allOf const format ' +
    'additionalProperties nullable $ref $defs string number integer boolean object array null'
  ).split(' '),
);

/**
 * Brings text through a template in one string with control tokens, and tells them apart behind it: in what users have
 * written, every literal of a control token gets a private-use character for its first one, so that neither the template nor
 * the split behind it takes it for a token. So does every part of a literal that what the template writes before or behind the
 * text could complete: the name of a parameter between its brackets.
 */
export class Escapes {
  readonly #tokenizer: Tokenizer;
  readonly #ids: ReadonlyMap<string, number>;
  readonly #literals: RegExp;
  /** Characters of literals, by the private-use character that stands in for each. */
  readonly #characters: string[];
  /** Proper beginnings and ends of literals. */
  readonly #beginnings = new Set<string>();
  readonly #ends = new Set<string>();
  readonly #longest: number;
  /** All literals, apart from each other. */
  readonly #joined: string;

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
    this.#ids = new Map(controlsOf(tokenizer));
    const literals = [...this.#ids.keys()].sort((a, b) => b.length - a.length);
    this.#literals = new RegExp(literals.map(quotedPattern).join('|') || '(?!)', 'gu');
    this.#characters = [...new Set(literals.flatMap((literal) => [...literal]))].slice(0, CHARACTERS);
    this.#longest = literals[0]?.length ?? 0;
    this.#joined = literals.join('\0');
    for (const literal of literals) {
      for (let at = 1; at < literal.length; at++) {
        this.#beginnings.add(literal.slice(0, at));
        this.#ends.add(literal.slice(at));
      }
    }
  }

  /** Text of anybody but the template. */
  text(text: string): string {
    if (SCHEMA_WORDS.has(text)) return text;
    const own = text.replace(/[\ue000-\uf8ff]/g, (unit) => OWN + unit);
    let escaped = own;
    if (this.#canBegin(own)) {
      const last = [...own.slice(-2)].at(-1) ?? '';
      escaped = own.slice(0, own.length - last.length) + this.#standIn(last);
    }
    if (this.#canEnd(own)) escaped = this.#standIn(escaped);
    return escaped.replace(this.#literals, (literal) => this.#standIn(literal));
  }

  /** Whether what stands behind a text could complete a literal that begins in it: the literal has the last character then. */
  #canBegin(text: string): boolean {
    const most = Math.min(this.#longest, text.length);
    for (let length = 1; length <= most; length++) if (this.#beginnings.has(text.slice(-length))) return true;
    return false;
  }

  /** Whether a text could end a literal that begins before it, or be an inner part of one: the literal has its first character then. */
  #canEnd(text: string): boolean {
    const most = Math.min(this.#longest, text.length);
    for (let length = 1; length <= most; length++) if (this.#ends.has(text.slice(0, length))) return true;
    return text.trim() !== '' && text.length < this.#longest && this.#joined.includes(text);
  }

  /** Text with a private-use character for its first one. */
  #standIn(text: string): string {
    const first = String.fromCodePoint(text.codePointAt(0) ?? 0);
    const index = this.#characters.indexOf(first);
    return index === -1 ? text : String.fromCharCode(FIRST + index) + text.slice(first.length);
  }

  /** A value for a template: texts escaped, keys in their order, numbers as they were written. */
  value(tree: JsonTree): unknown {
    if (typeof tree === 'string') return this.text(tree);
    if (typeof tree !== 'object' || tree === null) return tree;
    if (isNumber(tree))
      return String(Number(tree.number)) === tree.number
        ? Number(tree.number)
        : NUMBER + tree.number + NUMBER;
    if (!isEntries(tree)) return tree.map((member) => this.value(member));
    return Object.fromEntries(
      [...tree].map(([key, member]) => [(/^\d/.test(key) ? KEY : '') + this.text(key), this.value(member)]),
    );
  }

  /** What a template made, with the ids of its control tokens; texts are as they were, but for what the vocabulary strips. */
  pieces(rendered: string): Piece[] {
    const pieces: Piece[] = [];
    let from = 0;
    let before: number | undefined;
    for (const { 0: literal, index } of rendered.matchAll(this.#literals)) {
      const id = this.#ids.get(literal);
      pieces.push(this.#between(rendered.slice(from, index), before, id), id ?? literal);
      from = index + literal.length;
      before = id;
    }
    pieces.push(this.#between(rendered.slice(from), before, undefined));
    return pieces.filter((piece) => piece !== '');
  }

  /** A text between two control tokens. */
  #between(text: string, before: number | undefined, behind: number | undefined): string {
    let kept = restored(text, this.#characters);
    if (before !== undefined && this.#tokenizer.strips?.(before)?.right === true) kept = kept.trimStart();
    if (behind !== undefined && this.#tokenizer.strips?.(behind)?.left === true) kept = kept.trimEnd();
    return kept;
  }
}

/** The number that a template was given as text; undefined for any other text. */
export function numberIn(text: string): string | undefined {
  return text.startsWith(NUMBER) ? text.slice(1, -1) : undefined;
}

function restored(text: string, characters: readonly string[]): string {
  return text.replace(/\uf8ff([\s\S])|[\ue000-\uf8fe]/g, (unit, own: string | undefined) => {
    if (own !== undefined) return own;
    if (unit === KEY || unit === NUMBER) return '';
    return characters[unit.charCodeAt(0) - FIRST] ?? '';
  });
}

const known = new WeakMap<Tokenizer, [string, number][]>();

function controlsOf(tokenizer: Tokenizer): [string, number][] {
  const controls = known.get(tokenizer) ?? foundControls(tokenizer);
  known.set(tokenizer, controls);
  return controls;
}

function foundControls(tokenizer: Tokenizer): [string, number][] {
  return Array.from({ length: tokenizer.vocabularySize }, (_, id) => id).flatMap((id): [string, number][] => {
    const literal = tokenizer.decode([id]);
    return literal !== '' && tokenizer.controlId(literal) === id ? [[literal, id]] : [];
  });
}

function quotedPattern(literal: string): string {
  return literal.replace(/[$()*+.?[\\\]^{|}/-]/g, '\\$&');
}
