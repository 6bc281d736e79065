import type { Rule } from './rule-set.js';
import type { Hit } from './scanner.js';
import type { SafetyState } from './state.js';

/** Where phrases that count together were last seen, by the rule that needs them. */
export class NearPhrases {
  readonly #before: SafetyState['near'];
  /** A copy, made when the first is seen. */
  #now: Record<number, readonly number[]> | undefined;

  constructor(before: SafetyState['near']) {
    this.#before = before;
  }

  get places(): SafetyState['near'] {
    return this.#now ?? this.#before;
  }

  /** Whether all phrases of the rule have been seen near this one. */
  complete({ rule: index, part }: Hit, { parts, within }: Rule, at: number): boolean {
    this.#now ??= { ...this.#before };
    const places = [...(this.#now[index] ?? new Array<number>(parts).fill(-1))];
    places[part] = at;
    this.#now[index] = places;
    return places.every((place) => place !== -1 && at - place <= within);
  }
}
