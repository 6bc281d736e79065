/** Something that is done again and again, each time as long after the last as that says, until it is stopped. */
export class Repeating {
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  readonly #act: () => Promise<number>;

  /** @param act never fails; gives the time until it is to be done again, in ms */
  constructor(act: () => Promise<number>) {
    this.#act = act;
  }

  /** Does it for the first time, now. */
  async start(): Promise<void> {
    const waitMs = await this.#act();
    if (this.#stopped) return;
    this.#timer = setTimeout(() => void this.start(), waitMs);
    // What looks after others is no reason to go on.
    this.#timer.unref();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }
}
