import { LogWriter, type LogWriterOptions } from '@turnpike/append-log';
import type { UsageRecord } from '../usage-record.js';
import type { AdmitEntry, JournalEntry, ProgressEntry } from './line.js';

export interface JournalOptions extends LogWriterOptions {
  /** Bytes from which on no turn is admitted, until what is written down has reached the ledger. */
  readonly maxBytes: number;
  /** Called when there is something for the relay. */
  readonly onSettle?: (() => void) | undefined;
}

/** Why a journal takes no turn. */
export class JournalFull extends Error {
  override readonly name = 'JournalFull';
}

/** How often what could not be written is tried again, in ms. */
const RETRY_MS = 500;

/**
 * What one gateway writes down of money, before it happens and after, in a log that survives `kill -9` at any moment; a
 * power cut can cost the last `syncMs`.
 *
 * A disk that is full, or a journal at its bound, admits no further turn. What is running is settled all the same: beyond
 * the bound, or, where the disk takes nothing, from memory as soon as it does. Its admission is on the disk meanwhile.
 */
export class Journal {
  readonly #log: LogWriter;
  readonly #options: JournalOptions;
  /** Turns that are admitted and not settled, and the segments they begin in. */
  readonly #open = new Map<string, string>();
  /** Settlements that the disk did not take yet. */
  readonly #unwritten: UsageRecord[] = [];
  #retryTimer: NodeJS.Timeout | undefined;

  /**
   * @param root folder of all journals; `name` is that of this one in it
   * @param firstSequence of what is written next: more than one in a journal that goes on
   */
  constructor(root: string, name: string, options: JournalOptions, firstSequence = 1) {
    this.#options = options;
    this.#log = new LogWriter(root, name, options, firstSequence);
  }

  get folder(): string {
    return this.#log.folder;
  }

  /** Names it among all that were ever written. */
  get name(): string {
    return this.#log.name;
  }

  /** Bytes of everything that the ledger has not got yet, and of what has not been removed. */
  get bytes(): number {
    return this.#log.bytes;
  }

  /** Whether no turn is admitted. */
  get isFull(): boolean {
    return this.#unwritten.length > 0 || this.#log.isUnsynced || this.bytes >= this.#options.maxBytes;
  }

  /** Whether the disk has not taken the latest write. */
  get isFailing(): boolean {
    return this.#log.isFailing;
  }

  /** Turns that are admitted and not settled. */
  get openTurns(): number {
    return this.#open.size;
  }

  /**
   * Writes down that a turn is about to reach an engine.
   * @returns the number of the record
   * @throws JournalFull when no turn is admitted, or the disk does not take this one
   */
  admit(entry: Omit<AdmitEntry, 'kind'>): number {
    if (this.#unwritten.length > 0) throw new JournalFull('the disk of the journal takes nothing');
    if (this.#log.isUnsynced) throw new JournalFull('the disk of the journal does not keep what it takes');
    if (this.bytes >= this.#options.maxBytes) throw new JournalFull('the journal has reached its bound');
    try {
      const sequence = this.#append({ kind: 'admit', ...entry });
      this.#open.set(entry.admission.id, this.#log.segment ?? '');
      return sequence;
    } catch (thrown) {
      throw new JournalFull((thrown as Error).message, { cause: thrown });
    }
  }

  /** Writes down how far a turn has come. What the disk does not take is of no use later. */
  progress(entry: Omit<ProgressEntry, 'kind'>): boolean {
    try {
      this.#append({ kind: 'progress', ...entry });
      return true;
    } catch {
      return false;
    }
  }

  /** Writes down what a turn costs. It is kept until the disk takes it. */
  settle(record: Omit<UsageRecord, 'journal' | 'settleSequence'>): UsageRecord {
    const complete = { ...record, journal: this.name, settleSequence: this.#log.sequence };
    this.#unwritten.push(complete);
    this.#writeSettled();
    return complete;
  }

  /** Whether a segment can go once everything in it has reached the ledger. */
  isRemovable(segment: string): boolean {
    return segment !== this.#log.segment && ![...this.#open.values()].includes(segment);
  }

  /** A segment was removed. */
  removed(segment: string): void {
    this.#log.removed(segment);
  }

  /** Everything that was written is on the disk when this resolves. */
  async sync(): Promise<void> {
    await this.#log.sync();
  }

  /** @throws Error when what is left cannot be written */
  async close(): Promise<void> {
    clearTimeout(this.#retryTimer);
    this.#writeSettled();
    clearTimeout(this.#retryTimer);
    if (this.#unwritten.length > 0) throw new JournalFull('settlements could not be written down');
    await this.#log.close();
  }

  #writeSettled(): void {
    for (let record = this.#unwritten[0]; record !== undefined; record = this.#unwritten[0]) {
      try {
        this.#append({ kind: 'settle', record: { ...record, settleSequence: this.#log.sequence } });
      } catch {
        this.#retryTimer ??= setTimeout(() => {
          this.#retryTimer = undefined;
          this.#writeSettled();
        }, RETRY_MS).unref();
        return;
      }
      this.#unwritten.shift();
      this.#open.delete(record.id);
      this.#options.onSettle?.();
    }
  }

  #append({ kind, ...body }: JournalEntry): number {
    return this.#log.append(kind, body);
  }
}
