import type { ResponseNode, StoredResponse } from '@turnpike/conversation';
import type { Item } from '@turnpike/protocol';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseStore } from './cached-response-store.js';
import type { DatabaseCircuit } from './database-circuit.js';
import { isAway } from './database-errors.js';
import { shownOf } from './rows.js';
import type { Drainer } from './spool/drainer.js';
import type { Spool } from './spool/spool.js';
import type { Admit, PendingResponse, SqlResponseStore } from './sql-response-store.js';

/**
 * Longest that a response waits for its commit, in ms. A database that answers everything else but commits nothing, as one
 * whose stand-by is gone, is as good as down.
 */
const COMMIT_MS = 2_000;

export interface SpooledStoreOptions {
  readonly circuit: Pick<DatabaseCircuit, 'isDown' | 'trip'>;
  readonly spool: Spool;
  readonly drainer: Pick<Drainer, 'drain'>;
}

/**
 * A store whose responses are never held up by its database: while that is down they are kept in the spool, and answered from
 * there as if they were stored. A healthy database has a response before its `save` resolves.
 */
export class SpooledResponseStore implements DatabaseStore {
  readonly #store: SqlResponseStore;
  readonly #options: SpooledStoreOptions;

  constructor(store: SqlResponseStore, options: SpooledStoreOptions) {
    this.#store = store;
    this.#options = options;
  }

  async load(tenant: string, id: string): Promise<ResponseNode | undefined> {
    const waiting = this.#options.spool.get(tenant, id);
    if (waiting === undefined) return this.#store.load(tenant, id);
    return waiting.isDeleted ? undefined : waiting.node;
  }

  async find(tenant: string, id: string): Promise<StoredResponse | undefined> {
    const waiting = this.#options.spool.get(tenant, id);
    if (waiting === undefined) return this.#store.find(tenant, id);
    return waiting.isDeleted || waiting.node === undefined
      ? undefined
      : shownOf(waiting.node, waiting.continues);
  }

  async findItems(tenant: string, ids: readonly string[]): Promise<Map<string, Item>> {
    const missing = new Set(ids);
    const found = new Map<string, Item>();
    for (const { node, continues } of this.#options.spool.of(tenant)) {
      if (node === undefined) continue;
      const { response, input } = shownOf(node, continues);
      for (const item of [...input, ...response.output]) {
        if (item.id !== undefined && missing.delete(item.id)) found.set(item.id, item);
      }
    }
    if (missing.size === 0) return found;
    return new Map([...found, ...(await this.#store.findItems(tenant, [...missing]))]);
  }

  async has(tenant: string, id: string): Promise<boolean> {
    const waiting = this.#options.spool.get(tenant, id);
    return waiting === undefined ? this.#store.has(tenant, id) : !waiting.isDeleted;
  }

  knows(node: ResponseNode): boolean {
    return this.#store.knows(node);
  }

  isOnlyHere(tenant: string, id: string): boolean {
    return this.#options.spool.get(tenant, id) !== undefined;
  }

  /**
   * Resolves when the response is in the database or, where that cannot be had in time, on the disk.
   * @throws Error when it is in neither
   */
  async save(node: ResponseNode): Promise<void> {
    const { circuit } = this.#options;
    const pending = this.#store.pending(node);
    // Behind one that waits it waits as well: a chain reaches the database in its order.
    if ((circuit.isDown || this.#isBehindOne(node)) && (await this.#spool(pending))) return;
    const written = this.#store.write(pending.rows).then(() => this.#store.isKept(pending));
    // It may still fail, or arrive, when nobody waits for it any more.
    written.catch(() => undefined);
    try {
      if (await isInTime(written)) return;
      circuit.trip(new Error(`A commit took more than ${COMMIT_MS} ms.`));
    } catch (thrown) {
      if (!isAway(thrown)) throw thrown;
    }
    if (!(await this.#spool(pending))) await written;
  }

  /** What could not be written is the caller's affair here, also what it continues. */
  async saveIf(node: ResponseNode, admit: Admit): Promise<boolean> {
    if (this.#isBehindOne(node)) await this.#options.drainer.drain();
    return this.#store.saveIf(node, admit);
  }

  async delete(tenant: string, id: string): Promise<boolean> {
    const waiting = this.#options.spool.get(tenant, id);
    if (waiting === undefined) return this.#store.delete(tenant, id);
    const deleted = await this.#options.spool.delete(tenant, id);
    this.#drainSoon();
    return deleted;
  }

  /** Whether it continues a response that waits. */
  #isBehindOne({ tenant, parent }: ResponseNode): boolean {
    return parent !== undefined && this.#options.spool.get(tenant, parent.id) !== undefined;
  }

  async #spool(pending: PendingResponse): Promise<boolean> {
    if (!(await this.#options.spool.save(pending))) return false;
    this.#store.isKept(pending);
    this.#drainSoon();
    return true;
  }

  /** Unless it is down, the database takes it at once; that it does not, shows that it is. */
  #drainSoon(): void {
    const { circuit, drainer } = this.#options;
    if (!circuit.isDown) drainer.drain().catch((thrown: unknown) => circuit.trip(thrown));
  }
}

/** Whether it resolves before it has taken too long. */
async function isInTime(written: Promise<void>): Promise<boolean> {
  const over = new AbortController();
  try {
    return await Promise.race([
      written.then(() => true),
      sleep(COMMIT_MS, false, { signal: over.signal }).catch(() => false),
    ]);
  } finally {
    over.abort();
  }
}
