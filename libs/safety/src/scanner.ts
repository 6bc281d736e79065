import { Automaton } from './automaton.js';
import type { Detector } from './detectors/detectors.js';
import { personalNumbers } from './detectors/personal.js';
import { holdsApiKey, holdsPrivateKey } from './detectors/secrets.js';
import { DROPPED, foldedForm, foldedUnit, isHighSurrogate, isLowSurrogate } from './fold.js';
import { unseenTexts, type Hiding } from './hidden.js';
import type { Encoding, RuleSet } from './rule-set.js';
import {
  DATA,
  decoded,
  decoderAt,
  endOfOpen,
  endOfRun,
  isRunUnit,
  joins,
  MAX_RUN,
  MIN_RUN,
  nextRun,
  openRun,
  startOfOpen,
  type OpenRun,
} from './runs.js';

/** What patterns depend on that are more than words. Immutable, and of a bounded size. */
export interface Place {
  /** The end of the text: as much as keys and numbers may be split behind. */
  readonly tail: string;
  /** The run that it ends with. */
  readonly run: OpenRun<Carry> | undefined;
}

/** Where a scan stands: all that text behind it depends on. Immutable. */
export interface Carry extends Place {
  /** States of the automata over the text as it is, and folded. */
  readonly exact: number;
  readonly folded: number;
}

export const NOTHING_READ: Carry = {
  exact: Automaton.START,
  folded: Automaton.START,
  tail: '',
  run: undefined,
};

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

/** Characters that keys and numbers may be split behind, with what they are told by. */
const TAIL = 96;
/** Of a private key, with its header. */
const PEM_TAIL = 256;
const PEM_BEGIN = '-----BEGIN ';
/** Of a text that goes on from several places: all that patterns may reach from any of them. */
const REACH = 1_280;
/** How deep encodings are looked into: base64 of base64. */
const MAX_DEPTH = 2;
/** Where groups of base64 can begin. */
const SHIFTS = [0, 1, 2, 3];
const HIDING_DETECTORS = new Set<Hiding>(['direction_override', 'invisible_text']);

/** Applies a rule set to texts that may go on from each other. Holds nothing of them. */
export class Scanner {
  readonly rules: RuleSet;
  /** Units that automata have read since the start: what scanning costs. */
  steps = 0;
  /** Characters that were looked at for more than words, counted again where they are looked at again. */
  looks = 0;

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
    const seen: Seen[] = [];
    const carries = behind.map((carry): Carry => {
      const { exact, folded } = this.#alone(text, carry, hits) ?? fresh;
      const { tail, run } = this.#behind(text, carry, hits, seen);
      return { exact, folded, tail, run };
    });
    return { carries, hits: hits.all, units: fresh.units };
  }

  /** Looks for what is more than words alone, keys, numbers and hidden texts, in a text that may end where it does. */
  look(text: string, from: Place): { readonly place: Place; readonly hits: readonly Hit[] } {
    const hits = new Hits();
    return { place: this.#look(text, from, hits, 0), hits: hits.all };
  }

  /** The place behind a text of which nothing else is asked. */
  placeBehind(text: string): Place {
    const start = startOfOpen(text);
    const { run } = this.#look(text.slice(start), NOTHING_READ, new Hits(), 0);
    return { tail: copied(tailOf(text)), run };
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
    let high = from.tail.charCodeAt(from.tail.length - 1);
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

  /** Looks for what is more than words, in a text behind one of several places. */
  #behind(text: string, from: Place, hits: Hits, seen: Seen[]): Place {
    const known = seen.find((each) => each.from.run === from.run && each.from.tail === from.tail);
    if (known !== undefined) return known.to;
    const [first] = seen;
    const reach = first === undefined ? text.length : reachOf(text);
    // What does not begin before the reach was seen behind the first place.
    const own = this.#look(reach < text.length ? text.slice(0, reach) : text, from, hits, 0);
    const to = first !== undefined && reach < text.length ? first.to : own;
    seen.push({ from, to });
    return to;
  }

  #look(text: string, from: Place, hits: Hits, depth: number): Place {
    const { detectors } = this.rules;
    const window = from.tail + text;
    const seen = from.tail.length;
    this.looks += window.length;
    const found = (detector: Detector) => {
      for (const rule of detectors.get(detector) ?? []) hits.add({ rule, part: -1, how: 'plain', at: 0 });
    };
    const run = this.#runs(text, from, hits, depth);
    for (const { text: shown, hiding } of unseenTexts(window, seen)) {
      if (HIDING_DETECTORS.has(hiding)) found(hiding as Detector);
      if (depth < MAX_DEPTH) {
        const inside = new Hits();
        this.#feed(shown, NOTHING_READ, inside, depth + 1);
        hits.addHidden(inside, hiding);
      }
    }
    if (detectors.has('private_key') && holdsPrivateKey(window, seen)) found('private_key');
    // Nothing of these ends with anything else.
    if (/[0-9A-Z]/.test(text)) {
      for (const detector of personalNumbers(window, seen, (each) => detectors.has(each))) found(detector);
    }
    const tail = tailOf(window);
    return { tail: depth === 0 ? copied(tail) : tail, run };
  }

  /** Looks at the runs of a text; returns the one that it ends with. */
  #runs(text: string, { tail, run: before }: Place, hits: Hits, depth: number): Place['run'] {
    const keys = this.rules.detectors.get('api_key') ?? [];
    let run = before;
    for (let at = 0; at < text.length;) {
      const start = nextRun(text, at);
      if (run !== undefined) run = joins(run, text, at, start);
      at = endOfRun(text, start);
      if (at === start) break;
      if (depth < MAX_DEPTH) run = this.#lengthened(run, text.slice(start, at), hits, depth);
      if (keys.length === 0) continue;
      const earlier = start === 0 ? tail.slice(openRun(tail)) : '';
      if (holdsApiKey(earlier + text.slice(start, at), earlier.length)) {
        for (const rule of keys) hits.add({ rule, part: -1, how: 'plain', at: 0 });
      }
    }
    return run;
  }

  /** A run that goes on, and what it says in base64. */
  #lengthened(run: Place['run'], more: string, hits: Hits, depth: number): OpenRun<Carry> {
    const line = (run?.line ?? 0) + more.length;
    if (line > MAX_RUN) return DATA;
    const known = run?.decoders;
    const head = known === undefined ? (run?.head ?? '') + more : more;
    if (known === undefined && head.length < MIN_RUN)
      return { line, head: copied(head), decoders: undefined };
    const inside = new Hits();
    const decoders = SHIFTS.map((shift) => {
      const decoder = known?.[shift] ?? decoderAt(NOTHING_READ);
      const { text, left, bytes } = decoded(decoder, known === undefined ? head.slice(shift) : more);
      const place = text === '' ? decoder.place : this.#feed(text, decoder.place, inside, depth + 1);
      return { left, bytes, place };
    });
    hits.addHidden(inside, 'base64');
    return { line, head: '', decoders };
  }

  /** Reads a text that is hidden in another one. */
  #feed(text: string, from: Carry, hits: Hits, depth: number): Carry {
    const { exact, folded } = this.#read(text, from, hits, false);
    const { tail, run } = this.#look(text, from, hits, depth);
    return { exact, folded, tail, run };
  }
}

/** Places that a text was looked at behind, and those behind it. */
interface Seen {
  readonly from: Place;
  readonly to: Place;
}

/** Where everything has ended that may have begun before a text, and nothing goes on. */
function reachOf(text: string): number {
  let at = Math.max(endOfOpen(text), REACH);
  while (at < text.length && (isRunUnit(text.charCodeAt(at)) || text.charAt(at) === ' ')) at += 1;
  // Whether a number is part of a longer one shows two characters behind it.
  return at + 2;
}

/** What was found: a rule that one phrase breaks once, phrases that count together wherever they stand. */
class Hits {
  readonly #broken = new Map<number, Hit>();
  readonly #parts: Hit[] = [];

  get all(): Hit[] {
    return [...this.#broken.values(), ...this.#parts];
  }

  /** What a text holds that is hidden in this one. */
  addHidden(inside: Hits, how: Hiding): void {
    for (const hit of inside.all) this.add({ ...hit, how });
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

function tailOf(text: string): string {
  const begin = text.length > TAIL ? text.slice(-PEM_TAIL).indexOf(PEM_BEGIN) : -1;
  if (begin === -1) return text.slice(-TAIL);
  return text.slice(Math.min(Math.max(0, text.length - PEM_TAIL) + begin, text.length - TAIL));
}

/** A string of its own: a part of another one keeps all of that in memory. */
export function copied(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}
