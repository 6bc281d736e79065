import type { Rule } from './rule-set.js';
import type { Hit } from './scanner.js';
import type { SafetyState } from './state.js';

/** Where phrases that count together were last seen, by the rule that needs them. */
export class NearPhrases {
  #places: SafetyState['near'];

  constructor(places: SafetyState['near']) {
    this.#places = places;
  }

  get places(): SafetyState['near'] {
    return this.#places;
  }

  /** Whether all phrases of the rule have been seen near this one. */
  complete({ rule: index, part }: Hit, { parts, within }: Rule, at: number): boolean {
    const places = [...(this.#places[index] ?? new Array<number>(parts).fill(-1))];
    places[part] = at;
    this.#places = { ...this.#places, [index]: places };
    return places.every((place) => place !== -1 && at - place <= within);
  }
}
