import { OnTheWay } from './on-the-way.js';
import type { JournalFault, JournalReader } from './journal/reader.js';
import type { UsageSink } from './usage-sink.js';

export interface RelayOptions {
  /** The journals that are read, at any time. */
  readonly readers: () => readonly JournalReader[];
  readonly sink: UsageSink;
  /** Records delivered at once. */
  readonly batch?: number | undefined;
  /** How long to wait after the first record for others, in ms. */
  readonly lingerMs?: number | undefined;
  /** How long to wait after a failure, in ms; twice as long after the next one, up to {@link MAX_BACK_OFF_MS}. */
  readonly backOffMs?: number | undefined;
  /** Called for the first failure of several in a row, and with undefined once deliveries succeed again. */
  readonly onFailure?: ((error: unknown) => void) | undefined;
  /** Called for what is not as it was written. */
  readonly onFault?: ((fault: JournalFault, reader: JournalReader) => Promise<void> | void) | undefined;
  /** How long to wait before looking whether what is on its way has arrived, in ms. */
  readonly followMs?: number | undefined;
  /** Called when records were lost on their way, and are delivered again. */
  readonly onLost?: ((count: number, reader: JournalReader) => void) | undefined;
  /** Called when a journal has been delivered to its end, and everything in it has arrived. */
  readonly onEnd?: ((reader: JournalReader) => Promise<void>) | undefined;
}

/** Longest wait between two tries: what was down is found back within ten seconds. */
const MAX_BACK_OFF_MS = 5_000;
const BATCH = 100;
const LINGER_MS = 100;
const BACK_OFF_MS = 200;
const FOLLOW_MS = 1_000;

/**
 * Brings what is written down to where it goes, in batches, each until it has arrived. Turns never wait for it: while it
 * fails, journals grow.
 */
export class Relay {
  readonly #options: RelayOptions;
  readonly #onTheWay = new WeakMap<JournalReader, OnTheWay>();
  #timer: NodeJS.Timeout | undefined;
  /** Whether the timer only looks after what is on its way: something new does not wait for that. */
  #isFollowing = false;
  /** One drain at a time, whoever asks. */
  #drains: Promise<void> = Promise.resolve();
  #isRunning = false;
  #failures = 0;
  #isAsked = false;
  #isStopped = false;
  #lastError: unknown;

  constructor(options: RelayOptions) {
    this.#options = options;
  }

  /** Why the latest delivery failed; undefined when it did not. */
  get failure(): unknown {
    return this.#failures === 0 ? undefined : this.#lastError;
  }

  /** There is something to deliver. Costs nothing when it is said often. */
  poke(): void {
    this.#isAsked = true;
    if (this.#isStopped || this.#isRunning || (this.#timer !== undefined && !this.#isFollowing)) return;
    this.#runIn(this.#options.lingerMs ?? LINGER_MS);
  }

  /**
   * Delivers everything that is there.
   * @returns false when a delivery failed
   */
  async flush(): Promise<boolean> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#run();
    return this.#failures === 0;
  }

  /** Delivers what is left, once, and nothing any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.flush();
  }

  #runIn(ms: number, isFollowing = false): void {
    clearTimeout(this.#timer);
    this.#isFollowing = isFollowing;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#run();
    }, ms).unref();
  }

  async #run(): Promise<void> {
    this.#isAsked = false;
    this.#isRunning = true;
    this.#drains = this.#drains.then(() => this.#drain());
    await this.#drains;
    this.#isRunning = false;
    if (this.#isStopped || this.#timer !== undefined) return;
    const { backOffMs = BACK_OFF_MS } = this.#options;
    if (this.#failures > 0) {
      this.#runIn(Math.min(MAX_BACK_OFF_MS, backOffMs * 2 ** Math.min(this.#failures - 1, 16)));
    } else if (this.#isAsked) this.poke();
    else if (this.#isWaiting) this.#runIn(this.#options.followMs ?? FOLLOW_MS, true);
  }

  /** Whether anything is on its way. */
  get #isWaiting(): boolean {
    return this.#options.readers().some((reader) => this.#onTheWay.get(reader)?.isEmpty === false);
  }

  async #drain(): Promise<void> {
    try {
      const readers = this.#options.readers();
      for (const reader of readers) await this.#drainOne(reader);
      for (const reader of readers) await this.#followOne(reader);
      if (this.#failures > 0) this.#options.onFailure?.(undefined);
      this.#failures = 0;
    } catch (thrown) {
      this.#lastError = thrown;
      if (this.#failures++ === 0) this.#options.onFailure?.(thrown);
    }
  }

  async #drainOne(reader: JournalReader): Promise<void> {
    const { sink, onFault, batch = BATCH } = this.#options;
    const sent = this.#sentOf(reader);
    for (;;) {
      const start = sent.next;
      const { records, faults, end } = await reader.next(batch, start);
      if (records.length > 0) await sink.deliver(records, reader.name);
      for (const fault of faults) await onFault?.(fault, reader);
      if (end.segment === start.segment && end.offset === start.offset) break;
      if (sink.whereIs === undefined) await reader.acknowledge(end);
      else sent.add({ start, end, count: records.length });
    }
  }

  async #followOne(reader: JournalReader): Promise<void> {
    const { sink, onEnd, onLost } = this.#options;
    const sent = this.#sentOf(reader);
    await sent.follow(sink, (count) => onLost?.(count, reader));
    if (sent.isEmpty) await onEnd?.(reader);
  }

  #sentOf(reader: JournalReader): OnTheWay {
    const known = this.#onTheWay.get(reader);
    if (known !== undefined) return known;
    const made = new OnTheWay(reader);
    this.#onTheWay.set(reader, made);
    return made;
  }
}
