import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { UsageRecord } from '../usage-record.js';
import { lineOf, type AdmitEntry, type JournalEntry, type ProgressEntry } from './line.js';
import { SegmentFile } from './segment-file.js';
import { makeFolder, segmentName, segmentsIn } from './segments.js';

export interface JournalOptions {
  /** Bytes from which on no turn is admitted, until what is written down has reached the ledger. */
  readonly maxBytes: number;
  /** Bytes after which a new segment is begun. */
  readonly segmentBytes?: number | undefined;
  /** How long what was written may wait to be brought to the disk with others, in ms. */
  readonly syncMs?: number | undefined;
  /** Called when a write or a sync fails, and with undefined once writing works again. */
  readonly onFailure?: ((error: Error | undefined) => void) | undefined;
  /** Called when there is something for the relay. */
  readonly onSettle?: (() => void) | undefined;
}

/** Why a journal takes no turn. */
export class JournalFull extends Error {
  override readonly name = 'JournalFull';
}

const SEGMENT_BYTES = 4 * 1024 * 1024;
const SYNC_MS = 100;
/** How often what could not be written is tried again, in ms. */
const RETRY_MS = 500;

/**
 * What one gateway writes down of money, before it happens and after: lines that are only ever added. Writing is a system
 * call that has returned, so that what was written survives `kill -9` at any moment; it is brought to the disk in groups,
 * so that a power cut can cost the last `syncMs`.
 *
 * A disk that is full, or a journal at its bound, admits no further turn. What is running is settled all the same: beyond
 * the bound, or, where the disk takes nothing, from memory as soon as it does. Its admission is on the disk meanwhile.
 */
export class Journal {
  readonly folder: string;
  /** Names it among all that were ever written. */
  readonly name: string;
  readonly #options: JournalOptions;
  #segment: SegmentFile | undefined;
  #sequence: number;
  /** Bytes of the segments that are complete. */
  readonly #sealed = new Map<string, number>();
  /** Turns that are admitted and not settled, and the segments they begin in. */
  readonly #open = new Map<string, string>();
  /** Settlements that the disk did not take yet. */
  readonly #unwritten: UsageRecord[] = [];
  #syncTimer: NodeJS.Timeout | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  #isFailing = false;

  /**
   * @param root folder of all journals; `name` is that of this one in it
   * @param firstSequence of what is written next: more than one in a journal that goes on
   */
  constructor(root: string, name: string, options: JournalOptions, firstSequence = 1) {
    this.name = name;
    this.folder = makeFolder(root, name);
    this.#options = options;
    this.#sequence = firstSequence;
    for (const segment of segmentsIn(this.folder)) {
      this.#sealed.set(segment, statSync(join(this.folder, segment)).size);
    }
  }

  /** Bytes of everything that the ledger has not got yet, and of what has not been removed. */
  get bytes(): number {
    return [...this.#sealed.values()].reduce((sum, size) => sum + size, this.#segment?.bytes ?? 0);
  }

  /** Whether no turn is admitted. */
  get isFull(): boolean {
    return this.#unwritten.length > 0 || this.bytes >= this.#options.maxBytes;
  }

  /** Whether the disk has taken the latest write. */
  get isFailing(): boolean {
    return this.#isFailing;
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
    if (this.bytes >= this.#options.maxBytes) throw new JournalFull('the journal has reached its bound');
    try {
      const sequence = this.#append({ kind: 'admit', ...entry });
      this.#open.set(entry.admission.id, this.#segment?.name ?? '');
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
    const complete = { ...record, journal: this.name, settleSequence: this.#sequence };
    this.#unwritten.push(complete);
    this.#writeSettled();
    return complete;
  }

  /** Whether a segment can go once everything in it has reached the ledger. */
  isRemovable(segment: string): boolean {
    return segment !== this.#segment?.name && ![...this.#open.values()].includes(segment);
  }

  /** A segment was removed. */
  removed(segment: string): void {
    this.#sealed.delete(segment);
  }

  /** Everything that was written is on the disk when this resolves. */
  async sync(): Promise<void> {
    await this.#segment?.sync();
  }

  /** @throws Error when what is left cannot be written */
  async close(): Promise<void> {
    clearTimeout(this.#syncTimer);
    clearTimeout(this.#retryTimer);
    this.#writeSettled();
    clearTimeout(this.#retryTimer);
    if (this.#unwritten.length > 0) throw new JournalFull('settlements could not be written down');
    await this.#segment?.close();
    this.#segment = undefined;
  }

  #writeSettled(): void {
    for (let record = this.#unwritten[0]; record !== undefined; record = this.#unwritten[0]) {
      try {
        this.#append({ kind: 'settle', record: { ...record, settleSequence: this.#sequence } });
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

  /** @throws Error when the disk does not take it; the number is free for the next one then */
  #append(entry: JournalEntry): number {
    const sequence = this.#sequence;
    try {
      const segment = this.#segmentFor(sequence);
      segment.append(lineOf(entry, sequence));
    } catch (thrown) {
      this.#failed(thrown as Error);
      throw thrown;
    }
    if (this.#isFailing) {
      this.#isFailing = false;
      this.#options.onFailure?.(undefined);
    }
    this.#sequence = sequence + 1;
    this.#syncSoon();
    return sequence;
  }

  #segmentFor(sequence: number): SegmentFile {
    const { segmentBytes = SEGMENT_BYTES } = this.#options;
    const current = this.#segment;
    if (current !== undefined && current.bytes < segmentBytes) return current;
    const next = new SegmentFile(this.folder, segmentName(sequence));
    this.#segment = next;
    if (current !== undefined) {
      this.#sealed.set(current.name, current.bytes);
      current.close().catch((thrown: unknown) => this.#failed(thrown as Error));
    }
    return next;
  }

  #syncSoon(): void {
    this.#syncTimer ??= setTimeout(() => {
      this.#syncTimer = undefined;
      this.sync().catch((thrown: unknown) => this.#failed(thrown as Error));
    }, this.#options.syncMs ?? SYNC_MS).unref();
  }

  #failed(error: Error): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#options.onFailure?.(error);
  }
}
