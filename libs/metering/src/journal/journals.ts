import { takeLeft, takeNew, type TakenFolder } from '@turnpike/append-log';
import { rmSync } from 'node:fs';
import type { PriceBook } from '../price-book.js';
import { Journal, type JournalOptions } from './journal.js';
import { leftBehind, settlementOf } from './lost-turns.js';
import { JournalReader } from './reader.js';

export interface JournalsOptions extends JournalOptions {
  /** Folder of the journals of this machine's gateways; they may share it. */
  readonly root: string;
  readonly prices: PriceBook;
  readonly now?: (() => number) | undefined;
  /** Called for each turn that a gateway has left behind, with its response id. */
  readonly onLost?: ((responseId: string) => void) | undefined;
}

/** A journal with what reads it. */
interface Owned {
  readonly journal: Journal;
  readonly reader: JournalReader;
  readonly lock: TakenFolder['lock'];
}

/**
 * The journal of this process, and those that it has taken over from gateways that died. A journal belongs to one process
 * for as long as it lives; the next one writes its own and takes over what it finds.
 */
export class Journals {
  readonly #options: JournalsOptions;
  readonly #own: Owned;
  readonly #adopted = new Map<string, Owned>();
  #adopting: Promise<void> = Promise.resolve();

  /** @throws Error when the folder cannot be written to */
  constructor(options: JournalsOptions) {
    this.#options = options;
    this.#own = this.#open(takeNew(options.root), 1);
  }

  /** What this process writes to. */
  get own(): Journal {
    return this.#own.journal;
  }

  /** Everything that is to be brought to the ledger. */
  get readers(): readonly JournalReader[] {
    return [this.#own, ...this.#adopted.values()].map(({ reader }) => reader);
  }

  /** Bytes that have not been removed, of all that this process holds. */
  get bytes(): number {
    return [...this.#adopted.values()].reduce((sum, { journal }) => sum + journal.bytes, this.own.bytes);
  }

  /** Takes over what others have left, and settles what they did not. */
  adopt(): Promise<void> {
    const adopted = this.#adopting.then(() => this.#adoptAll());
    this.#adopting = adopted.catch(() => undefined);
    return adopted;
  }

  /**
   * A journal that was taken over has reached the ledger to its end, and is removed. This process's own stays.
   * @param reader of it
   */
  async finished(reader: JournalReader): Promise<void> {
    const [name, owned] = [...this.#adopted].find(([, each]) => each.reader === reader) ?? [];
    if (name === undefined || owned === undefined) return;
    this.#adopted.delete(name);
    await owned.journal.close();
    rmSync(owned.journal.folder, { recursive: true, force: true });
    owned.lock.release();
  }

  /** Gives everything back; what the ledger has not got is found by the next process. */
  async close(): Promise<void> {
    await this.#adopting;
    const all = [...this.#adopted.values(), this.#own];
    const closed = await Promise.allSettled(all.map(({ journal }) => journal.close()));
    for (const { lock } of all) lock.release();
    for (const each of closed) if (each.status === 'rejected') throw each.reason;
  }

  async #adoptAll(): Promise<void> {
    const isKnown = (name: string) => name === this.own.name || this.#adopted.has(name);
    await takeLeft(this.#options.root, isKnown, (left) => this.#adoptOne(left));
  }

  async #adoptOne(left: TakenFolder): Promise<void> {
    const { prices, now = Date.now, onLost } = this.#options;
    const { turns, lastSequence } = await leftBehind(left.folder);
    const owned = this.#open(left, lastSequence + 1);
    for (const turn of turns) {
      owned.journal.settle(settlementOf(turn, prices, now()));
      onLost?.(turn.admission.id);
    }
    await owned.journal.sync();
    this.#adopted.set(left.name, owned);
    this.#options.onSettle?.();
  }

  #open({ name, lock }: TakenFolder, firstSequence: number): Owned {
    const journal = new Journal(this.#options.root, name, this.#options, firstSequence);
    const reader = new JournalReader(journal.folder, {
      isRemovable: (segment) => journal.isRemovable(segment),
      onRemoved: (segment) => journal.removed(segment),
    });
    return { journal, reader, lock };
  }
}
