import type { ChainNode, ResponseNode, ResponseStore, StoredResponse } from '@turnpike/conversation';
import { parseStored, type Item } from '@turnpike/protocol';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import { setImmediate } from 'node:timers/promises';
import { readChain } from './chain.js';
import { responseOf, rowsOf, turnItemOf, type Codecs, type NodeRows } from './rows.js';
import type { StoreSchema } from './schema.js';
import { ID, INSERT_ROWS } from './statements.js';

export interface SqlStoreOptions {
  readonly codecs: Codecs;
  /** How long a response is kept, in ms. */
  readonly retentionMs: number;
}

/** Responses of a chain that are to be written together, root first, and the rows that they become. */
export interface PendingResponse {
  readonly nodes: readonly ResponseNode[];
  readonly rows: readonly NodeRows[];
  /** Whether they can be continued from the store. */
  readonly continues: boolean;
}

/** Decides in the transaction of a response whether it is written. */
export type Admit = (transaction: Kysely<StoreSchema>) => Promise<boolean>;

/** What one sweep deletes at once: so many ends of chains, and so far back from each. About 10 ms of SQLite. */
const SWEEP = { ends: 20, steps: 20 };

/**
 * Responses in a SQL database. Every query names the tenant. A chain is read by one statement, and what a response adds
 * to it is written once.
 */
export class SqlResponseStore implements ResponseStore {
  readonly #db: Kysely<StoreSchema>;
  readonly #options: SqlStoreOptions;
  /** Responses known to be stored, and whether they can be continued from there. */
  readonly #stored = new WeakMap<ChainNode, { readonly continues: boolean }>();

  constructor(db: Kysely<StoreSchema>, options: SqlStoreOptions) {
    this.#db = db;
    this.#options = options;
  }

  async load(tenant: string, id: string): Promise<ResponseNode | undefined> {
    if (!ID.test(id)) return undefined;
    const node = await readChain(this.#db, tenant, id, this.#options.codecs);
    if (node !== undefined) this.#stored.set(node, { continues: true });
    return node;
  }

  async find(tenant: string, id: string): Promise<StoredResponse | undefined> {
    if (!ID.test(id)) return undefined;
    const found = await this.#found(tenant, id).select('body').executeTakeFirst();
    if (found === undefined) return undefined;
    const rows = await this.#db
      .selectFrom('items')
      .select(['is_output', 'body', 'format', 'ids', 'expansion'])
      .where('response_id', '=', id)
      .orderBy('position')
      .execute();
    const itemsOf = (isOutput: number) =>
      rows.filter((row) => row.is_output === isOutput).map((row) => turnItemOf(row).item);
    return { response: responseOf(found.body, itemsOf(1)), input: itemsOf(0) };
  }

  async findItems(tenant: string, ids: readonly string[]): Promise<Map<string, Item>> {
    const found = new Map<string, Item>();
    const wanted = ids.filter((id) => ID.test(id));
    for (let from = 0; from < wanted.length; from += INSERT_ROWS) {
      const rows = await this.#db
        .selectFrom('items')
        .innerJoin('responses', 'responses.id', 'items.response_id')
        .select(['items.item_id', 'items.body'])
        .where('responses.tenant', '=', tenant)
        .where('responses.expires_at', '>', Date.now())
        .where('items.item_id', 'in', wanted.slice(from, from + INSERT_ROWS))
        .execute();
      for (const { item_id, body } of rows)
        if (item_id !== null) found.set(item_id, parseStored(body) as Item);
    }
    return found;
  }

  /** Whether the tenant's response is there, neither deleted nor expired. */
  async has(tenant: string, id: string): Promise<boolean> {
    return ID.test(id) && (await this.#found(tenant, id).select('id').executeTakeFirst()) !== undefined;
  }

  isOnlyHere(_tenant: string, _id: string): boolean {
    return false;
  }

  /** Whether this store has written or read the node, so that {@link has} can tell what became of it. */
  knows(node: ResponseNode): boolean {
    return this.#stored.has(node);
  }

  /**
   * Writes the response, and with it those before it that could not be written in their own time.
   *
   * One whose parent was not to be stored is written on its own: it can be read, but not continued, because that would
   * need what the parent was.
   */
  async save(node: ResponseNode): Promise<void> {
    await this.saveIf(node, () => Promise.resolve(true));
  }

  /**
   * Writes the response as {@link save} does, in one transaction with what `admit` does there before.
   * @param admit false to write nothing
   * @returns what `admit` said
   */
  async saveIf(node: ResponseNode, admit: Admit): Promise<boolean> {
    const pending = this.pending(node);
    const admitted = await this.#db.transaction().execute(async (transaction) => {
      if (!(await admit(transaction))) return false;
      for (const each of pending.rows) await insert(transaction, each);
      return true;
    });
    if (admitted) this.isKept(pending);
    return admitted;
  }

  /** What has to be written for a response to be stored. */
  pending(node: ResponseNode): PendingResponse {
    const { nodes, continues } = this.#unsaved(node);
    const codecs = continues ? this.#options.codecs : undefined;
    return { nodes, continues, rows: nodes.map((each) => rowsOf(each, this.#options.retentionMs, codecs)) };
  }

  /** It is written, or sure to be. */
  isKept({ nodes, continues }: Pick<PendingResponse, 'nodes' | 'continues'>): void {
    for (const node of nodes) this.#stored.set(node, { continues });
  }

  /** It will not be written after all: the next response of its chain tries again. */
  isNotKept(node: ResponseNode): void {
    this.#stored.delete(node);
  }

  /** Writes rows, all or none; those that are there stay as they are. */
  async write(rows: readonly NodeRows[]): Promise<void> {
    await this.#db.transaction().execute(async (transaction) => {
      for (const each of rows) await insert(transaction, each);
    });
  }

  /**
   * Deletes a response that may never have been written, or is being written by a transaction whose end nobody heard of:
   * that one is waited for, and what it wrote is deleted.
   */
  async bury(tenant: string, id: string): Promise<void> {
    const grave = {
      id,
      tenant,
      parent_id: null,
      depth: 0,
      created_at: 0,
      expires_at: 0,
      own_bytes: 0,
      body: '{}',
    };
    await this.#db
      .insertInto('responses')
      .values(grave)
      .onConflict((conflict) =>
        conflict.column('id').doUpdateSet({ expires_at: 0 }).where('responses.tenant', '=', tenant),
      )
      .execute();
    await this.#removeEnds(sql`r.id = ${id}`);
  }

  async delete(tenant: string, id: string): Promise<boolean> {
    if (!ID.test(id)) return false;
    const deleted = await this.#db
      .updateTable('responses')
      .set({ expires_at: 0 })
      .where('id', '=', id)
      .where('tenant', '=', tenant)
      .where('expires_at', '>', Date.now())
      .returning('id')
      .executeTakeFirst();
    if (deleted === undefined) return false;
    await this.#removeEnds(sql`r.id = ${id}`);
    return true;
  }

  /**
   * Removes what has expired or was deleted and is continued by nothing that is still found, in batches.
   * @returns responses removed
   */
  async sweep(): Promise<number> {
    for (let total = 0; ; await setImmediate()) {
      const removed = await this.#removeEnds(sql`true`);
      if (removed === 0) return total;
      total += removed;
    }
  }

  #found(tenant: string, id: string) {
    return this.#db
      .selectFrom('responses')
      .where('id', '=', id)
      .where('tenant', '=', tenant)
      .where('expires_at', '>', Date.now());
  }

  /** The node behind those ancestors that should be stored and are not, root first. */
  #unsaved(node: ResponseNode): { nodes: ResponseNode[]; continues: boolean } {
    const nodes = [node];
    let at = node.parent;
    for (; at !== undefined && isToBeStored(at) && !this.#stored.has(at); at = at.parent) nodes.push(at);
    const continues = at === undefined || this.#stored.get(at)?.continues === true;
    return { nodes: nodes.reverse(), continues };
  }

  /**
   * Removes ends of chains that are not found any more, and what leads to nothing else, a bounded number of steps back.
   * Items and artifacts go with their response.
   */
  async #removeEnds(which: RawBuilder<unknown>): Promise<number> {
    const now = Date.now();
    const { numAffectedRows } = await sql`
      with recursive doomed (id, parent_id, steps) as (
        select id, parent_id, 0 from (
          select r.id, r.parent_id from responses r
            where ${which} and r.expires_at <= ${now}
              and not exists (select 1 from responses child where child.parent_id = r.id)
            limit ${sql.lit(SWEEP.ends)}) ends
        union all
        select r.id, r.parent_id, d.steps + 1 from doomed d join responses r on r.id = d.parent_id
          where d.steps < ${sql.lit(SWEEP.steps)} and r.expires_at <= ${now}
            and not exists (select 1 from responses child where child.parent_id = r.id and child.id <> d.id)
      )
      delete from responses where id in (select id from doomed)`.execute(this.#db);
    return Number(numAffectedRows ?? 0);
  }
}

function isToBeStored(node: ChainNode): node is ResponseNode {
  return node.response?.store === true;
}

/** Does nothing for what is there: a commit whose answer got lost is tried again. */
async function insert(db: Kysely<StoreSchema>, { response, items, artifacts }: NodeRows): Promise<void> {
  await db
    .insertInto('responses')
    .values(response)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  for (let from = 0; from < items.length; from += INSERT_ROWS) {
    if (from > 0) await setImmediate();
    const rows = items.slice(from, from + INSERT_ROWS);
    await db
      .insertInto('items')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
  if (artifacts.length === 0) return;
  await db
    .insertInto('artifacts')
    .values([...artifacts])
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}
