import { createHash } from 'node:crypto';
import type { Verdict } from './verdict.js';

/** Verdicts that are remembered; one takes about 200 bytes. */
const MOST = 10_000;

/**
 * Verdicts by what they are about, so that what a client sends again, or in a fork, is not classified again. An answer that
 * did not come is not remembered.
 */
export class VerdictCache {
  /** Least recently used first. */
  readonly #verdicts = new Map<string, Verdict | Promise<Verdict>>();

  get(subject: string, classify: () => Verdict | Promise<Verdict>): Verdict | Promise<Verdict> {
    const key = createHash('sha256').update(subject).digest('base64url');
    const known = this.#verdicts.get(key);
    const verdict = known ?? classify();
    this.#verdicts.delete(key);
    this.#verdicts.set(key, verdict);
    if (known === undefined && verdict instanceof Promise) {
      verdict.then(
        (settled) => this.#verdicts.has(key) && this.#verdicts.set(key, settled),
        () => this.#verdicts.delete(key),
      );
    }
    for (const oldest of this.#verdicts.keys()) {
      if (this.#verdicts.size <= MOST) break;
      this.#verdicts.delete(oldest);
    }
    return verdict;
  }
}
