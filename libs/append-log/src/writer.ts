import { statSync } from 'node:fs';
import { join } from 'node:path';
import { lineOf } from './line.js';
import { SegmentFile, type SystemCalls } from './segment-file.js';
import { makeFolder, segmentName, segmentsIn } from './segments.js';

export interface LogWriterOptions {
  /** Bytes after which a new segment is begun. */
  readonly segmentBytes?: number | undefined;
  /** How long what was written may wait to be brought to the disk with others, in ms. */
  readonly syncMs?: number | undefined;
  /** Those of the operating system, unless others are given. */
  readonly calls?: SystemCalls | undefined;
  /** Called when a write or a sync fails, and with undefined once writing works again. */
  readonly onFailure?: ((error: Error | undefined) => void) | undefined;
}

const SEGMENT_BYTES = 4 * 1024 * 1024;
const SYNC_MS = 100;

/**
 * Adds records to a log. Writing is a system call that has returned, so that what was written survives `kill -9` at any
 * moment; it is brought to the disk in groups, so that a power cut can cost the last `syncMs` of what nobody waited for.
 */
export class LogWriter {
  readonly folder: string;
  /** Names it among all that were ever written. */
  readonly name: string;
  readonly #options: LogWriterOptions;
  #segment: SegmentFile | undefined;
  #sequence: number;
  /** Bytes of the segments that are complete. */
  readonly #sealed = new Map<string, number>();
  #syncTimer: NodeJS.Timeout | undefined;
  #isFailing = false;
  #isUnsynced = false;

  /**
   * @param root folder of all logs of this kind; `name` is that of this one in it
   * @param firstSequence of what is written next: more than one in a log that goes on
   */
  constructor(root: string, name: string, options: LogWriterOptions, firstSequence = 1) {
    this.name = name;
    this.folder = makeFolder(root, name);
    this.#options = options;
    this.#sequence = firstSequence;
    for (const segment of segmentsIn(this.folder)) {
      this.#sealed.set(segment, statSync(join(this.folder, segment)).size);
    }
  }

  /** Bytes of all segments that have not been removed. */
  get bytes(): number {
    return [...this.#sealed.values()].reduce((sum, size) => sum + size, this.#segment?.bytes ?? 0);
  }

  /** Whether the disk has not taken the latest write. */
  get isFailing(): boolean {
    return this.#isFailing;
  }

  /**
   * Whether the disk has not kept what it took, as when it is full behind the back of the file system. It is tried again; until
   * then a power cut costs what was written meanwhile.
   */
  get isUnsynced(): boolean {
    return this.#isUnsynced;
  }

  /** Number of the next record. */
  get sequence(): number {
    return this.#sequence;
  }

  /** Name of the segment that is written to; undefined before the first record. */
  get segment(): string | undefined {
    return this.#segment?.name;
  }

  /**
   * @returns the number of the record
   * @throws Error when the disk does not take it; the number is free for the next one then
   */
  append(kind: string, body: object): number {
    const sequence = this.#sequence;
    try {
      this.#segmentFor(sequence).append(lineOf(kind, body, sequence));
    } catch (thrown) {
      this.#failed(thrown as Error);
      throw thrown;
    }
    if (!this.#isUnsynced) this.#recovered();
    this.#sequence = sequence + 1;
    this.#syncSoon();
    return sequence;
  }

  /** A segment was removed. */
  removed(segment: string): void {
    this.#sealed.delete(segment);
  }

  /** Nothing more is written to the current segment; the next record begins another. */
  seal(): void {
    const current = this.#segment;
    if (current === undefined) return;
    this.#segment = undefined;
    this.#sealed.set(current.name, current.bytes);
    current.close().catch((thrown: unknown) => this.#notSynced(thrown as Error));
  }

  /** Everything that was written is on the disk when this resolves. */
  async sync(): Promise<void> {
    try {
      await this.#segment?.sync();
    } catch (thrown) {
      this.#notSynced(thrown as Error);
      throw thrown;
    }
    if (!this.#isUnsynced) return;
    this.#isUnsynced = false;
    this.#recovered();
  }

  async close(): Promise<void> {
    clearTimeout(this.#syncTimer);
    await this.#segment?.close();
    this.#segment = undefined;
  }

  #segmentFor(sequence: number): SegmentFile {
    const { segmentBytes = SEGMENT_BYTES } = this.#options;
    if (this.#segment !== undefined && this.#segment.bytes >= segmentBytes) this.seal();
    this.#segment ??= new SegmentFile(this.folder, segmentName(sequence), this.#options.calls);
    return this.#segment;
  }

  #syncSoon(): void {
    this.#syncTimer ??= setTimeout(() => {
      this.#syncTimer = undefined;
      this.sync().catch(() => undefined);
    }, this.#options.syncMs ?? SYNC_MS).unref();
  }

  #notSynced(error: Error): void {
    this.#isUnsynced = true;
    this.#failed(error);
    this.#syncSoon();
  }

  #recovered(): void {
    if (!this.#isFailing) return;
    this.#isFailing = false;
    this.#options.onFailure?.(undefined);
  }

  #failed(error: Error): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    this.#options.onFailure?.(error);
  }
}
