import { Automaton } from './automaton.js';
import type { Detector } from './detectors/detectors.js';
import { personalNumbers } from './detectors/personal.js';
import { holdsApiKey, holdsPrivateKey } from './detectors/secrets.js';
import { DROPPED, foldedForm, foldedUnit, isHighSurrogate, isLowSurrogate } from './fold.js';
import { decodedRun, MAX_RUN, openRun, runsOf, unseenTexts, type Hiding } from './hidden.js';
import type { Encoding, RuleSet } from './rule-set.js';

/** Where a scan stands: all that text behind it depends on. Immutable. */
export interface Carry {
  /** States of the automata over the text as it is, and folded. */
  readonly exact: number;
  readonly folded: number;
  /** The end of the text: the run that it ends with, or the last characters. At most {@link MOST_TAIL}. */
  readonly tail: string;
}

export const NOTHING_READ: Carry = { exact: Automaton.START, folded: Automaton.START, tail: '' };

/** What a text was found to hold. */
export interface Hit {
  readonly rule: number;
  /** Of a rule that needs several phrases: which one this is; else -1. */
  readonly part: number;
  readonly how: Encoding | Hiding;
  /** Letters and digits of the text up to its end. */
  readonly at: number;
}

export interface Scanned {
  /** Behind the text, one for each carry that was given. */
  readonly carries: readonly Carry[];
  /** In order, as far as the order can matter. */
  readonly hits: readonly Hit[];
  /** Letters and digits that it has. */
  readonly units: number;
}

/** Characters that numbers may be split behind. */
const TAIL = 64;
/** A run that is too long to hold something stays so. */
export const MOST_TAIL = MAX_RUN + 1;
/** How deep encodings are looked into: base64 of base64. */
const MAX_DEPTH = 2;
const HIDING_DETECTORS = new Set<Hiding>(['direction_override', 'invisible_text']);

/** Applies a rule set to texts that may go on from each other. Holds nothing of them. */
export class Scanner {
  readonly rules: RuleSet;
  /** Units that automata have read since the start: what scanning costs. */
  steps = 0;

  constructor(rules: RuleSet) {
    this.rules = rules;
  }

  /**
   * Looks through a text behind each of some places. It is read once however many these are: behind the first units, what
   * came before makes no difference any more.
   */
  scan(text: string, behind: readonly Carry[]): Scanned {
    const hits = new Hits();
    const fresh = this.#read(text, NOTHING_READ, hits, false);
    const seen = new Set<string>();
    const carries = behind.map((carry): Carry => {
      const { exact, folded } = this.#alone(text, carry, hits) ?? fresh;
      const tail = this.#inspect(text, carry.tail, hits, seen);
      return { exact, folded, tail };
    });
    return { carries, hits: hits.all, units: fresh.units };
  }

  /**
   * Looks for what is more than words alone: keys, numbers, and texts that are hidden in this one.
   * @param from what ends before has been seen
   */
  look(text: string, from: number): readonly Hit[] {
    const hits = new Hits();
    this.#look(text, from, hits, 0);
    return hits.all;
  }

  /** Where the automata stand behind a text that is too short to forget what was before; undefined where it is not. */
  #alone(text: string, carry: Carry, hits: Hits) {
    const { exact, folded, tail } = carry;
    const isSplit = isHighSurrogate(tail.charCodeAt(tail.length - 1));
    if (exact === Automaton.START && folded === Automaton.START && !isSplit) return undefined;
    const behind = this.#read(text, carry, hits, true);
    return behind.forgot ? undefined : behind;
  }

  /**
   * Runs the automata over a text.
   * @param stops whether to stop where what was before makes no difference
   */
  #read(text: string, from: Carry, hits: Hits, stops: boolean) {
    const { exact: plain, folded: read } = this.rules;
    let { exact, folded } = from;
    let high = stops ? from.tail.charCodeAt(from.tail.length - 1) : 0;
    let units = 0;
    /** Of a character that began before the text, and is none without what was before. */
    let shared = 0;
    for (let at = 0; at < text.length; at += 1) {
      const unit = text.charCodeAt(at);
      exact = plain.step(exact, unit);
      if (plain.matches(exact)) this.#matched(plain, exact, units, hits);
      const one = foldedUnit(unit);
      if (one !== undefined && one !== DROPPED) {
        folded = read.step(folded, one);
        units += 1;
        if (read.matches(folded)) this.#matched(read, folded, units, hits);
      } else if (one === undefined && !isHighSurrogate(unit)) {
        const form = isLowSurrogate(unit) ? pairForm(high, unit) : foldedForm(unit);
        for (let index = 0; index < form.length; index += 1) {
          folded = read.step(folded, form.charCodeAt(index));
          units += 1;
          if (read.matches(folded)) this.#matched(read, folded, units, hits);
        }
        if (at === 0) shared = isLowSurrogate(unit) ? form.length : 0;
      }
      high = unit;
      if (stops && (plain.depth[exact] ?? 0) <= at + 1 && (read.depth[folded] ?? 0) <= units - shared) {
        this.steps += at + 1;
        return { exact, folded, units, forgot: true };
      }
    }
    this.steps += text.length;
    return { exact, folded, units, forgot: false };
  }

  #matched(automaton: Automaton, state: number, at: number, hits: Hits): void {
    for (const id of automaton.matchesAt(state)) {
      const meaning = this.rules.meanings[id];
      if (meaning === undefined) continue;
      const { rule, part, encoding: how } = meaning;
      hits.add({ rule, part, how, at });
    }
  }

  /** Looks for what is more than words, in a text behind its tail; returns the tail of both. */
  #inspect(text: string, tail: string, hits: Hits, seen: Set<string>): string {
    if (!seen.has(tail)) {
      // What does not begin in the tail was seen behind another one.
      const part = seen.size === 0 ? text : text.slice(0, MAX_RUN + TAIL);
      seen.add(tail);
      this.#look(tail + part, tail.length, hits, 0);
    }
    return tailOf(tail, text);
  }

  #look(text: string, from: number, hits: Hits, depth: number): void {
    const { detectors } = this.rules;
    const found = (detector: Detector) => {
      for (const rule of detectors.get(detector) ?? []) hits.add({ rule, part: -1, how: 'plain', at: 0 });
    };
    const wantsKeys = detectors.has('api_key');
    for (const run of runsOf(text, from)) {
      if (wantsKeys && holdsApiKey(run)) found('api_key');
      if (depth < MAX_DEPTH)
        for (const hidden of decodedRun(run)) this.#hidden(hidden.text, hidden.hiding, hits, depth);
    }
    for (const { text: shown, hiding } of unseenTexts(text, from)) {
      if (HIDING_DETECTORS.has(hiding)) found(hiding as Detector);
      if (depth < MAX_DEPTH) this.#hidden(shown, hiding, hits, depth);
    }
    if (detectors.has('private_key') && holdsPrivateKey(text)) found('private_key');
    for (const detector of personalNumbers(text, from, (each) => detectors.has(each))) found(detector);
  }

  #hidden(text: string, hiding: Hiding, hits: Hits, depth: number): void {
    const inside = new Hits();
    this.#read(text, NOTHING_READ, inside, false);
    this.#look(text, 0, inside, depth + 1);
    for (const hit of inside.all) hits.add({ ...hit, how: hiding });
  }
}

/** What was found: a rule that one phrase breaks once, phrases that count together wherever they stand. */
class Hits {
  readonly #broken = new Map<number, Hit>();
  readonly #parts: Hit[] = [];

  get all(): Hit[] {
    return [...this.#broken.values(), ...this.#parts];
  }

  add(hit: Hit): void {
    if (hit.part === -1) {
      if (!this.#broken.has(hit.rule) || hit.how === 'plain') this.#broken.set(hit.rule, hit);
      return;
    }
    // Of the same phrase again and again only the last one can matter.
    const last = this.#parts.at(-1);
    if (last?.rule === hit.rule && last.part === hit.part) this.#parts.pop();
    this.#parts.push(hit);
  }
}

export function pairForm(high: number, low: number): string {
  return isHighSurrogate(high) ? foldedForm((high - 0xd800) * 0x400 + (low - 0xdc00) + 0x10000) : '';
}

/** What has to be kept of a text for what is split behind it. A copy: a part of a string keeps all of it in memory. */
export function tailOf(before: string, text: string): string {
  const end = text.length >= MOST_TAIL ? text.slice(-MOST_TAIL) : before + text;
  const start = Math.max(0, end.length - MOST_TAIL, Math.min(openRun(end), end.length - TAIL));
  return Buffer.from(end.slice(start), 'utf16le').toString('utf16le');
}
