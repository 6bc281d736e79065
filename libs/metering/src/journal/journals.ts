import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { PriceBook } from '../price-book.js';
import { Journal, type JournalOptions } from './journal.js';
import { FolderLock } from './lock.js';
import { leftBehind, settlementOf } from './lost-turns.js';
import { JournalReader } from './reader.js';
import { makeFolder, segmentsIn } from './segments.js';

export interface JournalsOptions extends JournalOptions {
  /** Folder of the journals of this machine's gateways; they may share it. */
  readonly root: string;
  readonly prices: PriceBook;
  readonly now?: (() => number) | undefined;
  /** Called for each turn that a gateway has left behind, with its response id. */
  readonly onLost?: ((responseId: string) => void) | undefined;
}

/** When a journal was begun, and what makes it the only one. */
const NAME = /^\d{14}-[0-9a-f]{12}$/;

/** A journal with what reads it. */
interface Owned {
  readonly journal: Journal;
  readonly reader: JournalReader;
  readonly lock: FolderLock;
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
    makeFolder(options.root);
    // Who looks for journals that were left behind may find this folder before its lock is taken, and remove it.
    let own: Owned | undefined;
    while (own === undefined) own = this.#make(newName());
    this.#own = own;
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
    const { root } = this.#options;
    const others = readdirSync(root, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      .filter((name) => name !== this.own.name && !this.#adopted.has(name) && NAME.test(name));
    for (const name of others) await this.#adoptOne(name);
  }

  async #adoptOne(name: string): Promise<void> {
    const { root, prices, now = Date.now, onLost } = this.#options;
    const folder = join(root, name);
    const lock = lockOf(folder);
    if (lock === undefined) return;
    try {
      if (segmentsIn(folder).length === 0) {
        rmSync(folder, { recursive: true, force: true });
        lock.release();
        return;
      }
      const { turns, lastSequence } = await leftBehind(folder);
      const owned = this.#open(name, lock, lastSequence + 1);
      for (const turn of turns) {
        owned.journal.settle(settlementOf(turn, prices, now()));
        onLost?.(turn.admission.id);
      }
      await owned.journal.sync();
      this.#adopted.set(name, owned);
      this.#options.onSettle?.();
    } catch (thrown) {
      lock.release();
      throw thrown;
    }
  }

  #make(name: string): Owned | undefined {
    const lock = lockOf(makeFolder(this.#options.root, name));
    return lock && this.#open(name, lock, 1);
  }

  #open(name: string, lock: FolderLock, firstSequence: number): Owned {
    const journal = new Journal(this.#options.root, name, this.#options, firstSequence);
    const reader = new JournalReader(journal.folder, {
      isRemovable: (segment) => journal.isRemovable(segment),
      onRemoved: (segment) => journal.removed(segment),
    });
    return { journal, reader, lock };
  }
}

function newName(): string {
  const begun = new Date().toISOString().replaceAll(/\D/g, '').slice(0, 14);
  return `${begun}-${randomBytes(6).toString('hex')}`;
}

/** Undefined when somebody has it, or it was removed a moment ago. */
function lockOf(folder: string): FolderLock | undefined {
  try {
    return FolderLock.take(folder);
  } catch (thrown) {
    if (!existsSync(folder)) return undefined;
    throw thrown;
  }
}
