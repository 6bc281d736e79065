import type { Piece } from '../format.js';
import { isEntries, isNumber, type JsonTree } from '../json/json-text.js';
import type { Tokenizer } from '../tokenizer/types.js';

/** Private-use characters that stand in for what must come through a template unread. */
const FIRST = 0xe000;
/** Before keys that JavaScript would put in another order. */
const KEY = '\uf8fd';
/** Around the text of a number that JavaScript would write otherwise. */
const NUMBER = '\uf8fe';
/** Before a private-use character of the text itself. */
const OWN = '\uf8ff';

/**
 * Brings text through a template in one string with control tokens, and tells them apart behind it: in what users have
 * written, every literal of a control token gets a private-use character for its first one, so that neither the template nor
 * the split behind it takes it for a token.
 */
export class Escapes {
  readonly #ids: ReadonlyMap<string, number>;
  readonly #literals: RegExp;
  readonly #firsts: string[];

  constructor(tokenizer: Tokenizer) {
    this.#ids = new Map(controlsOf(tokenizer));
    const literals = [...this.#ids.keys()].sort((a, b) => b.length - a.length);
    this.#literals = new RegExp(literals.map(quotedPattern).join('|') || '(?!)', 'gu');
    this.#firsts = [...new Set(literals.map((literal) => String.fromCodePoint(literal.codePointAt(0) ?? 0)))];
  }

  /** Text of anybody but the template. */
  text(text: string): string {
    const own = text.replace(/[\ue000-\uf8ff]/g, (unit) => OWN + unit);
    return own.replace(this.#literals, (literal) => {
      const first = String.fromCodePoint(literal.codePointAt(0) ?? 0);
      return String.fromCharCode(FIRST + this.#firsts.indexOf(first)) + literal.slice(first.length);
    });
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

  /** What a template made, with the ids of its control tokens; texts are as they were. */
  pieces(rendered: string): Piece[] {
    const pieces: Piece[] = [];
    let from = 0;
    for (const { 0: literal, index } of rendered.matchAll(this.#literals)) {
      pieces.push(restored(rendered.slice(from, index), this.#firsts), this.#ids.get(literal) ?? literal);
      from = index + literal.length;
    }
    pieces.push(restored(rendered.slice(from), this.#firsts));
    return pieces.filter((piece) => piece !== '');
  }
}

/** The number that a template was given as text; undefined for any other text. */
export function numberIn(text: string): string | undefined {
  return text.startsWith(NUMBER) ? text.slice(1, -1) : undefined;
}

function restored(text: string, firsts: readonly string[]): string {
  return text.replace(/\uf8ff([\s\S])|[\ue000-\uf8fe]/g, (unit, own: string | undefined) => {
    if (own !== undefined) return own;
    if (unit === KEY || unit === NUMBER) return '';
    return firsts[unit.charCodeAt(0) - FIRST] ?? '';
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
