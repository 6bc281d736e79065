import { Automaton } from './automaton.js';
import { DROPPED, foldedForm, foldedUnit, isHighSurrogate, isLowSurrogate } from './fold.js';
import type { RuleSet } from './rule-set.js';
import { pairForm } from './scanner.js';

/** One way to read an output through the automata, with the places where its last units stand. Used for one output. */
export class OutputReading {
  readonly #rules: RuleSet;
  readonly #most: number;
  readonly #matched: (automaton: Automaton, state: number, units: number) => void;
  /** Places of the last units, as they are and folded. */
  readonly #places: Int32Array;
  readonly #foldedPlaces: Int32Array;
  #exact = Automaton.START;
  #folded = Automaton.START;
  #read = 0;
  #units = 0;
  #high = 0;

  /**
   * @param most units whose places are kept
   * @param matched is told of states in which patterns end
   */
  constructor(
    rules: RuleSet,
    most: number,
    matched: (automaton: Automaton, state: number, units: number) => void,
  ) {
    this.#rules = rules;
    this.#most = most;
    this.#matched = matched;
    this.#places = new Int32Array(most);
    this.#foldedPlaces = new Int32Array(most);
  }

  /** @param place of the character that the unit is, or of the first one that it is written with */
  take(unit: number, place: number): void {
    const { exact } = this.#rules;
    this.#exact = exact.step(this.#exact, unit);
    this.#places[this.#read % this.#most] = place;
    this.#read += 1;
    if (exact.matches(this.#exact)) this.#matched(exact, this.#exact, this.#units);
    const one = foldedUnit(unit);
    if (one !== undefined && one !== DROPPED) this.#step(one, place);
    else if (one === undefined && !isHighSurrogate(unit)) {
      const form = isLowSurrogate(unit) ? pairForm(this.#high, unit) : foldedForm(unit);
      for (let index = 0; index < form.length; index += 1) this.#step(form.charCodeAt(index), place);
    }
    this.#high = unit;
  }

  /** The place of the first unit that may be part of a match yet to come; `end` when there is none. */
  holdFrom(end: number): number {
    const { exact, folded } = this.#rules;
    const before = (places: Int32Array, read: number, held: number) =>
      held === 0 ? end : (places[(read - Math.min(held, this.#most)) % this.#most] ?? end);
    return Math.min(
      before(this.#places, this.#read, exact.held[this.#exact] ?? 0),
      before(this.#foldedPlaces, this.#units, folded.held[this.#folded] ?? 0),
    );
  }

  #step(unit: number, place: number): void {
    const { folded } = this.#rules;
    this.#folded = folded.step(this.#folded, unit);
    this.#foldedPlaces[this.#units % this.#most] = place;
    this.#units += 1;
    if (folded.matches(this.#folded)) this.#matched(folded, this.#folded, this.#units);
  }
}
