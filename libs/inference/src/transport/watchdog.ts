/** Calls back when something is waited for too long. One timer, however often waiting begins and ends. */
export class Watchdog {
  #limitMs: number;
  readonly #onSilence: () => void;
  #timer: NodeJS.Timeout | undefined;
  #waiting = false;

  constructor(limitMs: number, onSilence: () => void) {
    this.#limitMs = limitMs;
    this.#onSilence = onSilence;
  }

  /** From now on the limit runs. */
  wait(): void {
    this.#waiting = true;
    if (this.#timer === undefined) this.#timer = setTimeout(() => this.#fire(), this.#limitMs);
    else this.#timer.refresh();
  }

  /** From the next wait on the limit is this one, if it is less. */
  shorten(limitMs: number): void {
    if (limitMs >= this.#limitMs) return;
    this.#limitMs = limitMs;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** What was waited for has come; the time until the next wait is not silence of the other side. */
  rest(): void {
    this.#waiting = false;
  }

  stop(): void {
    this.#waiting = false;
    clearTimeout(this.#timer);
  }

  #fire(): void {
    if (this.#waiting) this.#onSilence();
  }
}
