import type { LogPosition } from '@turnpike/append-log';
import type { JournalReader } from './journal/reader.js';
import type { UsageSink } from './usage-sink.js';

/** What was delivered in one go, by where it stands in its journal. */
interface SentBatch {
  readonly start: LogPosition;
  readonly end: LogPosition;
  /** Usage records between the two. */
  readonly count: number;
}

/**
 * What of one journal is on its way: delivered, and not yet where it goes. It stays written down until it is, so that what a
 * queue loses is delivered again.
 */
export class OnTheWay {
  readonly #reader: JournalReader;
  readonly #sent: SentBatch[] = [];

  constructor(reader: JournalReader) {
    this.#reader = reader;
  }

  /** From where on nothing is delivered yet. */
  get next(): LogPosition {
    return this.#sent.at(-1)?.end ?? this.#reader.position;
  }

  get isEmpty(): boolean {
    return this.#sent.length === 0;
  }

  /** Something was delivered. */
  add(batch: SentBatch): void {
    this.#sent.push(batch);
  }

  /**
   * Acknowledges what has arrived, and delivers again what was lost.
   * @param onLost told how many records that were
   * @throws Error when it cannot be found out, or cannot be delivered
   */
  async follow(sink: UsageSink, onLost: (count: number) => void): Promise<void> {
    let arrived: LogPosition | undefined;
    try {
      for (let first = this.#sent[0]; first !== undefined; first = this.#sent[0]) {
        const where = await this.#whereIs(first, sink);
        if (where === 'lost') return await this.#sendAgain(sink, onLost);
        if (where === 'waiting') return;
        arrived = first.end;
        this.#sent.shift();
      }
    } finally {
      if (arrived !== undefined) await this.#reader.acknowledge(arrived);
    }
  }

  /** Where one is lost, others may be. */
  async #sendAgain(sink: UsageSink, onLost: (count: number) => void): Promise<void> {
    for (const batch of [...this.#sent]) {
      if ((await this.#whereIs(batch, sink)) !== 'lost') continue;
      await sink.deliver(await this.#records(batch), this.#reader.name, true);
      onLost(batch.count);
    }
  }

  async #whereIs(batch: SentBatch, sink: UsageSink) {
    if (batch.count === 0 || sink.whereIs === undefined) return 'arrived';
    return sink.whereIs(await this.#records(batch), this.#reader.name);
  }

  async #records({ count, start }: SentBatch) {
    return (await this.#reader.next(count, start)).records;
  }
}
