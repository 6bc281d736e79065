import type { LogFault } from '@turnpike/append-log';
import type { ResponseNode } from '@turnpike/conversation';
import { isRefused } from '../database-errors.js';
import type { NodeRows } from '../rows.js';
import type { SqlResponseStore } from '../sql-response-store.js';
import type { SpoolRecord } from './record.js';
import type { SpoolIndex } from './spool-index.js';
import { lossesOf, type Spool, type SpoolSource } from './spool.js';

export interface DrainerOptions {
  readonly spool: Spool;
  /** Where everything goes, beside the circuit that tells others not to. */
  readonly target: Pick<SqlResponseStore, 'write' | 'bury'>;
  /** Called for a response that the database reads and does not take: it is given up. Its node where this process made it. */
  readonly onRefused: (responseId: string, error: unknown, node: ResponseNode | undefined) => void;
  /** Called for what is not as it was written. */
  readonly onFault: (fault: LogFault, spool: string) => void;
}

/** Brings spools into the database, in the order in which they were written. */
export class Drainer {
  readonly #options: DrainerOptions;
  #running: Promise<void> | undefined;
  #isAskedAgain = false;
  #isStopped = false;

  constructor(options: DrainerOptions) {
    this.#options = options;
  }

  /**
   * Brings everything that waits. Whoever asks while it runs waits for the same, and for what has come since.
   * @throws Error when the database does not take it; what did arrive stays acknowledged
   */
  drain(): Promise<void> {
    this.#isAskedAgain = true;
    this.#running ??= this.#drainAll().finally(() => (this.#running = undefined));
    return this.#running;
  }

  /** Begins nothing more; resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running?.catch(() => undefined);
  }

  async #drainAll(): Promise<void> {
    const { spool } = this.#options;
    while (this.#isAskedAgain && !this.#isStopped) {
      this.#isAskedAgain = false;
      for (const source of spool.sources) await this.#drainSource(source);
    }
  }

  async #drainSource(source: SpoolSource): Promise<void> {
    const { spool } = this.#options;
    let before: number;
    do before = spool.sequence;
    while (!this.#isStopped && (await this.#drainBatch(source)));
    if (!this.#isStopped && spool.sequence === before) await spool.finished(source);
  }

  /** @returns whether there was anything */
  async #drainBatch(source: SpoolSource): Promise<boolean> {
    const batch = await source.next();
    if (batch.records.length === 0 && batch.faults.length === 0) return false;
    for (const fault of lossesOf(batch)) this.#options.onFault(fault, source.name);
    await this.#bring(batch.records, source);
    await source.acknowledge(batch);
    for (const record of batch.records) {
      if (record.kind === 'save') source.index.arrived(record.rows.response.id);
      else source.index.buried(record.id);
    }
    return true;
  }

  async #bring(records: readonly SpoolRecord[], { index }: SpoolSource): Promise<void> {
    const { target } = this.#options;
    let rows: NodeRows[] = [];
    for (const record of records) {
      if (record.kind === 'delete') {
        await this.#write(rows, index);
        rows = [];
        await target.bury(record.tenant, record.id);
      } else if (index.isNeeded(record.rows.response.id)) {
        rows.push(index.isDeleted(record.rows.response.id) ? gone(record.rows) : record.rows);
      }
    }
    await this.#write(rows, index);
  }

  async #write(rows: readonly NodeRows[], index: SpoolIndex): Promise<void> {
    if (rows.length === 0) return;
    const { target, onRefused } = this.#options;
    try {
      await target.write(rows);
    } catch (thrown) {
      if (!isRefused(thrown)) throw thrown;
      const [first, ...others] = rows;
      if (first !== undefined && others.length === 0) {
        const { id, tenant } = first.response;
        return onRefused(id, thrown, index.get(tenant, id)?.node);
      }
      for (const each of rows) await this.#write([each], index);
    }
  }
}

/** Rows of a deleted response that something continues: it is not found, and goes when that has gone. */
function gone(rows: NodeRows): NodeRows {
  return { ...rows, response: { ...rows.response, expires_at: 0 } };
}
