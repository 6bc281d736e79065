import { unavailable } from './database-errors.js';

export interface CircuitOptions {
  /** Asks the database for a sign of life, on a connection of its own; rejects when there is none within so many ms. */
  readonly probe: (withinMs: number) => Promise<void>;
  /** Called when it has gone down, with the reason, and when it is up again. */
  readonly onChange?: ((isDown: boolean, reason?: unknown) => void) | undefined;
}

/**
 * Longest wait for an answer before the database is asked whether it lives, in ms. A commit takes a few; what takes so much
 * longer is worth a connection, and people do not notice a quarter of a second at the end of an answer.
 */
const PATIENCE_MS = 250;
/** How long a sign of life may take, in ms. Both together are what a database that hangs can hold anyone up, once. */
const SIGN_MS = 250;
/** Time between two tries whether it is back, in ms. */
const RETRY_MS = 500;
/** How long it may take to answer then: nobody waits for that. */
const RETRY_SIGN_MS = 2_000;

/**
 * Whether the database can be used. One that refuses connections, or neither answers a query nor gives a sign of life,
 * counts as down until it answers again; nobody waits for it meanwhile. One that is slow is none of that.
 */
export class DatabaseCircuit {
  readonly #options: CircuitOptions;
  readonly #waiting = new Set<(reason: unknown) => void>();
  readonly #recoveries: (() => Promise<void>)[] = [];
  #isDown = false;
  #reason: unknown;
  #isAsking = false;
  /** Answers of the database so far. */
  #answers = 0;
  #retry: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: CircuitOptions) {
    this.#options = options;
  }

  get isDown(): boolean {
    return this.#isDown;
  }

  /** @throws ApiError store_unavailable while it is down */
  check(): void {
    if (this.#isDown) throw unavailable(this.#reason);
  }

  /**
   * Waits for an answer of the database, and asks for a sign of life when it does not come.
   * @param isAway whether what it is rejected with is no answer
   */
  async watch<T>(answer: Promise<T>, isAway: (thrown: unknown) => boolean): Promise<T> {
    const timer = setInterval(() => this.suspect(), PATIENCE_MS);
    try {
      const value = await answer;
      this.#answers++;
      return value;
    } catch (thrown) {
      if (isAway(thrown)) this.suspect();
      else this.#answers++;
      throw thrown;
    } finally {
      clearInterval(timer);
    }
  }

  /**
   * The same value, unless the database goes down first.
   * @param late called with a value that comes after that
   * @throws ApiError store_unavailable
   */
  untilDown<T>(work: Promise<T>, late: (value: T) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      const onDown = (reason: unknown) => {
        isOver = true;
        reject(unavailable(reason));
      };
      this.#waiting.add(onDown);
      work
        .then((value) => (isOver ? late(value) : resolve(value)), reject)
        .finally(() => this.#waiting.delete(onDown));
    });
  }

  /** Calls back whenever it goes down. */
  onDown(callback: () => void): void {
    this.#waiting.add(callback);
  }

  /** Something has to be done with the database before it counts as up again; when that fails, it does not. */
  beforeUp(task: () => Promise<void>): void {
    this.#recoveries.push(task);
  }

  /** Something went wrong, or takes long: the database is asked whether it lives. */
  suspect(): void {
    if (this.#isDown || this.#isAsking || this.#isClosed) return;
    this.#isAsking = true;
    const before = this.#answers;
    this.#options
      .probe(SIGN_MS)
      // Any answer is a sign of life: it may be this process that had no time.
      .catch((thrown: unknown) => this.#answers === before && this.trip(thrown))
      .finally(() => (this.#isAsking = false));
  }

  /** The database cannot be used, whatever signs of life it gives. */
  trip(reason: unknown): void {
    if (this.#isDown || this.#isClosed) return;
    this.#isDown = true;
    this.#reason = reason;
    for (const tell of [...this.#waiting]) tell(reason);
    this.#options.onChange?.(true, reason);
    this.#tryAgainLater();
  }

  /** Asks nothing more; it stays as it is. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
  }

  #tryAgainLater(): void {
    if (!this.#isClosed) this.#retry = setTimeout(() => void this.#tryAgain(), RETRY_MS).unref();
  }

  async #tryAgain(): Promise<void> {
    try {
      await this.#options.probe(RETRY_SIGN_MS);
      for (const task of this.#recoveries) await task();
    } catch {
      return this.#tryAgainLater();
    }
    if (this.#isClosed) return;
    this.#isDown = false;
    this.#reason = undefined;
    this.#options.onChange?.(false);
  }
}
