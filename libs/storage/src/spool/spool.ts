import {
  LogReader,
  LogWriter,
  takeLeft,
  takeNew,
  type LogBatch,
  type LogFault,
  type TakenFolder,
} from '@turnpike/append-log';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { PendingResponse } from '../sql-response-store.js';
import { bodyOf, recordOf, type SpoolRecord } from './record.js';
import { SpoolIndex, type Waiting } from './spool-index.js';

export interface SpoolOptions {
  /** Folder of the spools of this machine's gateways; they may share it. */
  readonly root: string;
  /** Bytes on the disk, and in memory, from which on nothing more is taken. */
  readonly maxBytes: number;
  readonly segmentBytes?: number | undefined;
  /** Called when the disk takes nothing, and with undefined once it does again. */
  readonly onFailure?: ((error: Error | undefined) => void) | undefined;
}

/** Records that are read at once: one may hold the images of a request. */
const BATCH = 8;

/** A log of responses, with what waits in it. */
export interface SpoolSource {
  readonly name: string;
  readonly index: SpoolIndex;
  /** The next records that have not been acknowledged; none at its end. */
  next(): Promise<LogBatch<SpoolRecord>>;
  /** They have arrived in the database. */
  acknowledge(batch: LogBatch<SpoolRecord>): Promise<void>;
}

/**
 * Responses that were completed while the database could not be written to, in a log on a local disk, until it can. The
 * log belongs to this process; what others have left is taken over and drained in the same way.
 */
export class Spool {
  readonly #options: SpoolOptions;
  readonly #taken: TakenFolder;
  readonly #log: LogWriter;
  readonly #reader: LogReader<SpoolRecord>;
  readonly #index = new SpoolIndex();
  readonly #adopted = new Map<string, SpoolSource & { release(): void }>();

  /** @throws Error when the folder cannot be written to */
  constructor(options: SpoolOptions) {
    this.#options = options;
    this.#taken = takeNew(options.root);
    this.#log = new LogWriter(options.root, this.#taken.name, options);
    this.#reader = new LogReader(this.#log.folder, {
      parse: recordOf,
      isRemovable: (segment) => segment !== this.#log.segment,
      onRemoved: (segment) => this.#log.removed(segment),
    });
  }

  /** Bytes on the disk that this process has written. */
  get bytes(): number {
    return this.#log.bytes;
  }

  /** Number of the next record. */
  get sequence(): number {
    return this.#log.sequence;
  }

  /** Whether nothing more is taken. */
  get isFull(): boolean {
    return Math.max(this.#log.bytes, this.#index.retainedBytes) >= this.#options.maxBytes;
  }

  /** Responses of this process that wait. */
  get size(): number {
    return this.#index.size;
  }

  /** What waits here of this id, deleted ones included. */
  get(tenant: string, id: string): Waiting | undefined {
    return this.#index.get(tenant, id);
  }

  /** Responses of a tenant that wait and are not deleted. */
  of(tenant: string): Iterable<Waiting> {
    return this.#index.of(tenant);
  }

  /**
   * Keeps responses until the database has them.
   * @returns whether they are on the disk; false when the spool is full or the disk takes nothing
   */
  async save({ nodes, rows, continues }: PendingResponse): Promise<boolean> {
    if (this.isFull) return false;
    try {
      for (const each of rows) this.#log.append('save', bodyOf(each));
      for (const [at, node] of nodes.entries()) {
        const row = rows[at]?.response;
        if (row !== undefined) this.#index.add(row, node, continues);
      }
      await this.#log.sync();
      return true;
    } catch {
      // The log has said so. What did get there comes once more with the next of its chain, and changes nothing.
      return false;
    }
  }

  /**
   * Deletes a response that waits.
   * @returns whether the tenant had one of this id here
   * @throws Error when the disk does not take it; nothing is deleted then
   */
  async delete(tenant: string, id: string): Promise<boolean> {
    const waiting = this.#index.get(tenant, id);
    if (waiting === undefined || waiting.isDeleted) return false;
    this.#log.append('delete', { tenant, id });
    this.#index.delete(id);
    await this.#log.sync();
    return true;
  }

  /** Takes over what others have left. */
  async adopt(): Promise<void> {
    const isKnown = (name: string) => name === this.#taken.name || this.#adopted.has(name);
    await takeLeft(this.#options.root, isKnown, async (left) => {
      this.#adopted.set(left.name, await adoptedFrom(left));
    });
  }

  /** Everything that is to be brought to the database, what was left by others first. */
  get sources(): readonly SpoolSource[] {
    return [...this.#adopted.values(), this.#own()];
  }

  /** Nothing is left in a source, and nothing has come since that was found: what there is on the disk goes. */
  async finished({ name }: SpoolSource): Promise<void> {
    const adopted = this.#adopted.get(name);
    if (adopted !== undefined) {
      this.#adopted.delete(name);
      rmSync(join(this.#options.root, name), { recursive: true, force: true });
      return adopted.release();
    }
    this.#log.seal();
    await this.#reader.clear();
  }

  /** Gives everything back; what the database has not got is found by the next process. */
  async close(): Promise<void> {
    await this.#log.close();
    for (const adopted of this.#adopted.values()) adopted.release();
    this.#taken.lock.release();
  }

  #own(): SpoolSource {
    return sourceOf(this.#taken.name, this.#index, this.#reader);
  }
}

/** Faults of a batch that mean that something which was written is not there any more. */
export function lossesOf({ faults }: LogBatch<unknown>): readonly LogFault[] {
  return faults.filter(({ kind }) => kind !== 'torn');
}

/** Response ids that wait in spools, with the name of the spool. It only reads, also what others are writing to. */
export async function spooledIn(root: string): Promise<ReadonlyMap<string, string>> {
  const waiting = new Map<string, string>();
  if (!existsSync(root)) return waiting;
  for (const { name } of readdirSync(root, { withFileTypes: true }).filter((each) => each.isDirectory())) {
    await scan(readerOf(join(root, name)), (record) => {
      if (record.kind === 'save') waiting.set(record.rows.response.id, name);
      else waiting.delete(record.id);
    });
  }
  return waiting;
}

async function adoptedFrom({ name, folder, lock }: TakenFolder) {
  const [reader, index] = [readerOf(folder), new SpoolIndex()];
  await scan(reader, (record) => {
    if (record.kind === 'save') index.add(record.rows.response);
    else index.delete(record.id);
  });
  return { ...sourceOf(name, index, reader), release: () => lock.release() };
}

function sourceOf(name: string, index: SpoolIndex, reader: LogReader<SpoolRecord>): SpoolSource {
  return {
    name,
    index,
    next: () => reader.next(BATCH),
    acknowledge: ({ end }) => reader.acknowledge(end),
  };
}

function readerOf(folder: string): LogReader<SpoolRecord> {
  return new LogReader(folder, { parse: recordOf, isRemovable: () => true, onRemoved: () => undefined });
}

/** Every record that has not been acknowledged. */
async function scan(reader: LogReader<SpoolRecord>, see: (record: SpoolRecord) => void): Promise<void> {
  for (let from = reader.position; ;) {
    const { records, end } = await reader.next(BATCH, from);
    records.forEach(see);
    if (end.segment === from.segment && end.offset === from.offset) return;
    from = end;
  }
}
