import type { SqlResponseStore } from './sql-response-store.js';

const INTERVAL_MS = 10 * 60_000;

/** Removes expired responses now and then; keeps no process alive. */
export class Sweeper {
  readonly #timer: NodeJS.Timeout;
  #running: Promise<void> | undefined;

  /** @param onFailure called when a sweep failed; the next one tries again */
  constructor(store: Pick<SqlResponseStore, 'sweep'>, onFailure: (error: unknown) => void) {
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
