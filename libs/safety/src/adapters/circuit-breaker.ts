/** Failures in a row after which nothing is asked for a while. */
const FAILURES = 3;
/** How long, in ms; then one request finds out. */
const REST_MS = 5_000;

/** Stops asking who does not answer, and finds out by one request at a time when that is over. */
export class CircuitBreaker {
  readonly #now: () => number;
  #failures = 0;
  #openedAt = 0;
  #isTrying = false;

  /** @param now a clock in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Whether the next request would be let through. */
  get closed(): boolean {
    return this.#failures < FAILURES || (!this.#isTrying && this.#now() - this.#openedAt >= REST_MS);
  }

  /** Whether this request may be made; its end has to be reported. */
  admit(): boolean {
    if (!this.closed) return false;
    this.#isTrying = this.#failures >= FAILURES;
    return true;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#isTrying = false;
  }

  failed(): void {
    this.#failures += 1;
    this.#openedAt = this.#now();
    this.#isTrying = false;
  }
}
