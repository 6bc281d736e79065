import type {
  Conversation,
  ConversationState,
  ConversationStore,
  ConversationTurn,
  ItemPage,
  ItemQuery,
} from '@turnpike/conversation';
import { parseStored, type Item } from '@turnpike/protocol';
import type { TurnItem } from '@turnpike/turns';
import { sql, type Kysely } from 'kysely';
import { setImmediate } from 'node:timers/promises';
import { contentOf, turnItemOf } from './rows.js';
import type { ConversationItemRow, StoreSchema } from './schema.js';
import { ID, INSERT_ROWS } from './statements.js';

/** Items deleted at once. About 10 ms of SQLite. */
const DELETE_ROWS = 500;
/** Deleted conversations that one sweep looks up at once. */
const SWEEP_CONVERSATIONS = 20;

/**
 * Conversations in a SQL database. Every query names the tenant. What changes the items of a conversation begins with its
 * row, which holds up whatever else would change them until it is done.
 */
export class SqlConversationStore implements ConversationStore {
  readonly #db: Kysely<StoreSchema>;

  constructor(db: Kysely<StoreSchema>) {
    this.#db = db;
  }

  async create(tenant: string, conversation: Conversation, items: readonly TurnItem[]): Promise<void> {
    const { id, createdAt, metadata } = conversation;
    await this.#db.transaction().execute(async (transaction) => {
      await transaction
        .insertInto('conversations')
        .values({
          id,
          tenant,
          created_at: createdAt,
          deleted_at: null,
          metadata: JSON.stringify(metadata),
          version: 0,
          next_position: items.length,
          head_id: null,
          head_end: -1,
        })
        .execute();
      await insertItems(transaction, id, 0, items);
    });
  }

  async find(tenant: string, id: string): Promise<Conversation | undefined> {
    if (!ID.test(id)) return undefined;
    const row = await this.#db
      .selectFrom('conversations')
      .select(['created_at', 'metadata'])
      .where('id', '=', id)
      .where('tenant', '=', tenant)
      .where('deleted_at', 'is', null)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const metadata = JSON.parse(row.metadata) as Record<string, string>;
    return { id, createdAt: row.created_at, metadata };
  }

  async setMetadata(
    tenant: string,
    id: string,
    metadata: Readonly<Record<string, string>>,
  ): Promise<boolean> {
    const set = this.#update(this.#db, tenant, id).set({ metadata: JSON.stringify(metadata) });
    return ID.test(id) && (await set.returning('id').executeTakeFirst()) !== undefined;
  }

  async delete(tenant: string, id: string): Promise<boolean> {
    const set = this.#update(this.#db, tenant, id).set({ deleted_at: Date.now(), metadata: '{}' });
    if (!ID.test(id) || (await set.returning('id').executeTakeFirst()) === undefined) return false;
    await this.#remove(id);
    return true;
  }

  async open(tenant: string, id: string, from: 'head' | 'start'): Promise<ConversationState | undefined> {
    if (!ID.test(id)) return undefined;
    const end = from === 'head' ? sql<number>`c.head_end` : sql<number>`-1`;
    const rows = await this.#db
      .selectFrom('conversations as c')
      .leftJoin('conversation_items as i', (join) =>
        join.onRef('i.conversation_id', '=', 'c.id').on('i.position', '>', end),
      )
      .select(['c.version', 'c.head_id', 'i.body', 'i.format', 'i.ids', 'i.expansion'])
      .where('c.id', '=', id)
      .where('c.tenant', '=', tenant)
      .where('c.deleted_at', 'is', null)
      .orderBy('i.position')
      .execute();
    const [first] = rows;
    if (first === undefined) return undefined;
    const items = rows.flatMap(({ body, format, ids, expansion }) =>
      body === null ? [] : [turnItemOf({ body, format, ids, expansion })],
    );
    return {
      version: first.version,
      head: from === 'head' ? (first.head_id ?? undefined) : undefined,
      items,
    };
  }

  async append(
    tenant: string,
    id: string,
    items: readonly TurnItem[],
    turn?: ConversationTurn,
  ): Promise<boolean> {
    if (!ID.test(id)) return false;
    return this.#db.transaction().execute(async (transaction) => {
      const row = await this.#update(transaction, tenant, id)
        .set({
          version: sql`version + 1`,
          next_position: sql`next_position + ${items.length}`,
          ...(turn && {
            head_id: sql`case when version = ${turn.version} then ${turn.response} else null end`,
            head_end: sql`case when version = ${turn.version} then next_position + ${items.length} - 1 else -1 end`,
          }),
        })
        .returning('next_position')
        .executeTakeFirst();
      if (row === undefined) return false;
      await insertItems(transaction, id, row.next_position - items.length, items);
      return true;
    });
  }

  async listItems(
    tenant: string,
    id: string,
    { limit, order, after }: ItemQuery,
  ): Promise<ItemPage | undefined> {
    if (!ID.test(id)) return after === undefined ? { items: [], hasMore: false } : undefined;
    const before = after === undefined ? undefined : await this.#positionOf(tenant, id, after);
    if (after !== undefined && before === undefined) return undefined;
    const onward = order === 'asc' ? '>' : '<';
    const rows = await this.#items(tenant, id)
      .select('i.body')
      .$if(before !== undefined, (query) => query.where('i.position', onward, before ?? 0))
      .orderBy('i.position', order)
      .limit(limit + 1)
      .execute();
    return { items: rows.slice(0, limit).map(itemOf), hasMore: rows.length > limit };
  }

  async findItem(tenant: string, id: string, itemId: string): Promise<Item | undefined> {
    if (!ID.test(id) || !ID.test(itemId)) return undefined;
    const row = await this.#items(tenant, id)
      .select('i.body')
      .where('i.item_id', '=', itemId)
      .executeTakeFirst();
    return row && itemOf(row);
  }

  async removeItem(tenant: string, id: string, itemId: string): Promise<boolean> {
    // An item never changes its place, so that this may be read before.
    const position = await this.#positionOf(tenant, id, itemId);
    if (position === undefined) return false;
    return this.#db.transaction().execute(async (transaction) => {
      const row = await this.#update(transaction, tenant, id)
        .set({
          version: sql`version + 1`,
          head_id: sql`case when head_end >= ${position} then null else head_id end`,
          head_end: sql`case when head_end >= ${position} then -1 else head_end end`,
        })
        .returning('id')
        .executeTakeFirst();
      if (row === undefined) return false;
      const removed = await transaction
        .deleteFrom('conversation_items')
        .where('conversation_id', '=', id)
        .where('position', '=', position)
        .returning('item_id')
        .executeTakeFirst();
      return removed !== undefined;
    });
  }

  async findItems(tenant: string, ids: readonly string[]): Promise<Map<string, Item>> {
    const found = new Map<string, Item>();
    const wanted = ids.filter((id) => ID.test(id));
    for (let from = 0; from < wanted.length; from += INSERT_ROWS) {
      const rows = await this.#db
        .selectFrom('conversation_items as i')
        .innerJoin('conversations as c', 'c.id', 'i.conversation_id')
        .select(['i.item_id', 'i.body'])
        .where('c.tenant', '=', tenant)
        .where('c.deleted_at', 'is', null)
        .where('i.item_id', 'in', wanted.slice(from, from + INSERT_ROWS))
        .execute();
      for (const row of rows) found.set(row.item_id, itemOf(row));
    }
    return found;
  }

  /** Removes what is left of deleted conversations, after a process that ended in the middle of it. */
  async sweep(): Promise<void> {
    for (;;) {
      const rows = await this.#db
        .selectFrom('conversations')
        .select('id')
        .where('deleted_at', '>', 0)
        .limit(SWEEP_CONVERSATIONS)
        .execute();
      if (rows.length === 0) return;
      for (const { id } of rows) await this.#remove(id);
    }
  }

  #update(db: Kysely<StoreSchema>, tenant: string, id: string) {
    return db
      .updateTable('conversations')
      .where('id', '=', id)
      .where('tenant', '=', tenant)
      .where('deleted_at', 'is', null);
  }

  #items(tenant: string, id: string) {
    return this.#db
      .selectFrom('conversations as c')
      .innerJoin('conversation_items as i', 'i.conversation_id', 'c.id')
      .where('c.id', '=', id)
      .where('c.tenant', '=', tenant)
      .where('c.deleted_at', 'is', null);
  }

  async #positionOf(tenant: string, id: string, itemId: string): Promise<number | undefined> {
    if (!ID.test(id) || !ID.test(itemId)) return undefined;
    const row = await this.#items(tenant, id)
      .select('i.position')
      .where('i.item_id', '=', itemId)
      .executeTakeFirst();
    return row?.position;
  }

  /** Removes a conversation that is marked as deleted, in batches between which others get their turn. */
  async #remove(id: string): Promise<void> {
    for (let removed = true; removed; await setImmediate()) {
      const { numAffectedRows } = await sql`
        delete from conversation_items where conversation_id = ${id} and position <
          (select min(position) + ${sql.lit(DELETE_ROWS)} from conversation_items where conversation_id = ${id})`.execute(
        this.#db,
      );
      removed = Number(numAffectedRows ?? 0) > 0;
    }
    await this.#db
      .deleteFrom('conversations')
      .where('id', '=', id)
      .where('deleted_at', 'is not', null)
      .execute();
  }
}

async function insertItems(
  db: Kysely<StoreSchema>,
  conversation: string,
  position: number,
  items: readonly TurnItem[],
): Promise<void> {
  for (let from = 0; from < items.length; from += INSERT_ROWS) {
    if (from > 0) await setImmediate();
    const rows = items
      .slice(from, from + INSERT_ROWS)
      .map((entry, index) => rowOf(conversation, position + from + index, entry));
    await db.insertInto('conversation_items').values(rows).execute();
  }
}

/** @throws Error for an item without an id */
function rowOf(conversation: string, position: number, entry: TurnItem): ConversationItemRow {
  const { id } = entry.item;
  if (id === undefined) throw new Error('An item of a conversation has an id.');
  return { conversation_id: conversation, position, item_id: id, ...contentOf(entry) };
}

function itemOf({ body }: { readonly body: string }): Item {
  return parseStored(body) as Item;
}
