export interface RefreshTimes {
  /** How old what is known may become, in ms. */
  readonly everyMs: number;
  /** The least time between two refreshes that somebody waits for, in ms: what unknown keys may cost the database. */
  readonly leastMs: number;
}

const TIMES: RefreshTimes = { everyMs: 1_000, leastMs: 100 };

/** Runs a load now and then, and for whoever waits for one; one at a time, and not more often than it should. */
export class Refresher {
  readonly #load: () => Promise<void>;
  readonly #onFailure: (error: unknown) => void;
  readonly #times: RefreshTimes;
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #begunAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  /** @param onFailure called when a load failed; the next one tries again */
  constructor(load: () => Promise<void>, onFailure: (error: unknown) => void, times: RefreshTimes = TIMES) {
    this.#load = load;
    this.#onFailure = onFailure;
    this.#times = times;
  }

  start(): void {
    this.#timer = setInterval(() => void this.refresh(), this.#times.everyMs).unref();
  }

  /** Resolves when no load is running or waited for any more. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await (this.#next ?? this.#running);
  }

  /** Resolves after a load that begins from now on, whether it failed or not. */
  refresh(): Promise<void> {
    this.#next ??= this.#begin();
    return this.#next;
  }

  async #begin(): Promise<void> {
    await this.#running;
    const wait = this.#begunAt + this.#times.leastMs - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    this.#begunAt = performance.now();
    this.#next = undefined;
    this.#running = this.#load().catch((thrown: unknown) => this.#onFailure(thrown));
    await this.#running;
  }
}
