const INTERVAL_MS = 10 * 60_000;

/** A store that removes what is not to be found any more, in small batches. */
export interface Sweepable {
  sweep(): Promise<unknown>;
}

/** Removes what has expired or was deleted now and then; keeps no process alive. */
export class Sweeper {
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;

  /** @param onFailure called when a sweep failed; the next one tries again */
  constructor(store: Sweepable, onFailure: (error: unknown) => void) {
    const sweep = () => {
      this.#running ??= store
        .sweep()
        .then(() => undefined, onFailure)
        .finally(() => (this.#running = undefined));
    };
    sweep();
    this.#timer = setInterval(sweep, INTERVAL_MS).unref();
  }

  /** Resolves when no sweep is running any more. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }
}
