import { existsSync, readFileSync } from 'node:fs';
import { open, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { lineOf, readLine, type LogLine } from './line.js';
import { segmentsIn } from './segments.js';

/** Up to where a log has been read. */
export interface LogPosition {
  readonly segment: string;
  readonly offset: number;
  /** Number of the last record before it; 0 where that is not known. */
  readonly sequence: number;
}

/** Something that is not as it was written. */
export interface LogFault {
  /**
   * `torn`: the end of a segment was cut off, as by a crash. `damaged`: a line is not what was written. `gap`: records are
   * missing. `unreadable`: what a line says is not what its kind holds.
   */
  readonly kind: 'torn' | 'damaged' | 'gap' | 'unreadable';
  readonly segment: string;
  readonly offset: number;
  readonly detail?: string | undefined;
  /** Of what is unreadable, as it stands there. */
  readonly body?: string | undefined;
}

/** What was read in one go. */
export interface LogBatch<T> {
  readonly records: readonly T[];
  readonly faults: readonly LogFault[];
  readonly end: LogPosition;
}

/** Bytes of one read. */
const READ_BYTES = 256 * 1024;
const CHECKPOINT = 'checkpoint';
const NEWLINE = 10;

export interface LogReaderOptions<T> {
  /**
   * What a line holds; undefined for a kind that is not wanted.
   * @throws Error saying why it cannot be read
   */
  readonly parse: (line: LogLine) => T | undefined;
  /** Whether a segment that has been read can go. */
  readonly isRemovable: (segment: string) => boolean;
  readonly onRemoved: (segment: string) => void;
}

/** Reads the records of a log, each until it is acknowledged, and removes what is not needed any more. */
export class LogReader<T> {
  readonly #folder: string;
  readonly #options: LogReaderOptions<T>;
  #position: LogPosition;

  constructor(folder: string, options: LogReaderOptions<T>) {
    this.#folder = folder;
    this.#options = options;
    this.#position = this.#checkpoint();
  }

  /** Name of the log. */
  get name(): string {
    return basename(this.#folder);
  }

  /**
   * The next records behind what is acknowledged; the same again until then. An empty batch whose end lies further
   * holds records of other kinds.
   * @param from another place to read on from, for who only looks
   */
  async next(most: number, from = this.#position): Promise<LogBatch<T>> {
    const records: T[] = [];
    const faults: LogFault[] = [];
    let at = from;
    while (records.length < most) {
      const read = await this.#read(at, most - records.length);
      records.push(...read.records);
      faults.push(...read.faults);
      if (read.end.segment === at.segment && read.end.offset === at.offset) break;
      at = read.end;
    }
    return { records, faults, end: at };
  }

  /** Up to where everything is acknowledged. */
  get position(): LogPosition {
    return this.#position;
  }

  /** Whether nothing is left behind this position. */
  isAtEnd(position: LogPosition): boolean {
    return position.segment === this.#position.segment && position.offset === this.#position.offset;
  }

  /** Everything up to there has arrived where it goes. */
  async acknowledge(end: LogPosition): Promise<void> {
    if (this.isAtEnd(end)) return;
    this.#position = end;
    const path = join(this.#folder, CHECKPOINT);
    await writeFile(`${path}.new`, lineOf(CHECKPOINT, end, end.sequence), { mode: 0o600 });
    await rename(`${path}.new`, path);
    await this.#remove((segment) => segment < end.segment);
  }

  /** Removes what is acknowledged, also the segment that it ends in: for who knows that nothing is left in that. */
  clear(): Promise<void> {
    const { segment: last } = this.#position;
    return this.#remove((segment) => segment <= last);
  }

  async #remove(isRead: (segment: string) => boolean): Promise<void> {
    for (const segment of segmentsIn(this.#folder)) {
      if (!isRead(segment)) break;
      if (!this.#options.isRemovable(segment)) continue;
      await rm(join(this.#folder, segment));
      this.#options.onRemoved(segment);
    }
  }

  async #read(from: LogPosition, most: number): Promise<LogBatch<T>> {
    const segments = segmentsIn(this.#folder);
    const segment = segments.find((name) => name >= from.segment);
    if (segment === undefined) return { records: [], faults: [], end: from };
    const start = segment === from.segment ? from.offset : 0;
    const bytes = await readAt(join(this.#folder, segment), start);
    const complete = bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1);
    const after = segments.find((name) => name > segment);
    if (complete.length > 0) return this.#parse(complete, { ...from, segment, offset: start }, most);
    if (after === undefined) return { records: [], faults: [], end: { ...from, segment, offset: start } };
    // The next segment was begun, so that nothing more comes: what is left was cut off.
    const torn = bytes.length > 0 ? [{ kind: 'torn' as const, segment, offset: start }] : [];
    return { records: [], faults: torn, end: { ...from, segment: after, offset: 0 } };
  }

  #parse(bytes: Buffer, from: LogPosition, most: number): LogBatch<T> {
    const records: T[] = [];
    const faults: LogFault[] = [];
    let { offset, sequence } = from;
    const { segment } = from;
    for (let at = 0; at < bytes.length && records.length < most;) {
      const end = bytes.indexOf(NEWLINE, at);
      const line = readLine(bytes.toString('utf8', at, end));
      if (line === undefined) {
        faults.push({ kind: 'damaged', segment, offset, detail: `a line of ${end - at} bytes` });
      } else {
        if (sequence > 0 && line.sequence > sequence + 1) {
          faults.push({ kind: 'gap', segment, offset, detail: missing(sequence + 1, line.sequence - 1) });
        }
        sequence = line.sequence;
        this.#take(line, { records, faults, segment, offset });
      }
      offset += end + 1 - at;
      at = end + 1;
    }
    return { records, faults, end: { segment, offset, sequence } };
  }

  #take(line: LogLine, into: { records: T[]; faults: LogFault[]; segment: string; offset: number }): void {
    const { records, faults, segment, offset } = into;
    try {
      const record = this.#options.parse(line);
      if (record !== undefined) records.push(record);
    } catch (thrown) {
      const { message } = thrown as Error;
      faults.push({ kind: 'unreadable', segment, offset, detail: message, body: line.body });
    }
  }

  #checkpoint(): LogPosition {
    const path = join(this.#folder, CHECKPOINT);
    const line = existsSync(path) ? readLine(readFileSync(path, 'utf8').trimEnd()) : undefined;
    // What is delivered again changes nothing: reading from the start costs time and nothing else.
    if (line === undefined) return { segment: '', offset: 0, sequence: 0 };
    return JSON.parse(line.body) as LogPosition;
  }
}

function missing(first: number, last: number): string {
  return first === last ? `record ${first} is missing` : `records ${first} to ${last} are missing`;
}

async function readAt(path: string, offset: number): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    let length = READ_BYTES;
    for (;;) {
      const buffer = Buffer.alloc(length);
      const { bytesRead } = await file.read(buffer, 0, length, offset);
      const bytes = buffer.subarray(0, bytesRead);
      // A line that is longer than that would not be read at all.
      if (bytesRead < length || bytes.includes(NEWLINE)) return bytes;
      length *= 2;
    }
  } finally {
    await file.close();
  }
}
