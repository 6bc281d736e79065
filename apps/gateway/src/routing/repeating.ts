/** Something that is done again and again, each time as long after the last as that says, until it is stopped. */
export class Repeating {
  #timer: NodeJS.Timeout | undefined;
  /** When the timer ends, in ms of a clock that only goes forward. */
  #dueAt = 0;
  #stopped = false;
  readonly #act: () => Promise<number>;

  /** @param act never fails; gives the time until it is to be done again, in ms */
  constructor(act: () => Promise<number>) {
    this.#act = act;
  }

  /** Does it for the first time, now. */
  async start(): Promise<void> {
    this.#timer = undefined;
    const waitMs = await this.#act();
    if (!this.#stopped) this.#wait(waitMs);
  }

  /** Does it no later than in so many ms. What is being done just now is soon enough. */
  within(ms: number): void {
    if (this.#timer === undefined || performance.now() + ms >= this.#dueAt) return;
    clearTimeout(this.#timer);
    this.#wait(ms);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #wait(ms: number): void {
    this.#dueAt = performance.now() + ms;
    this.#timer = setTimeout(() => void this.start(), ms);
    // What looks after others is no reason to go on.
    this.#timer.unref();
  }
}
