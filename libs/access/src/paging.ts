import { sql, type Kysely } from 'kysely';
import type { AccessSchema, ApiKeyRow, BudgetRow, TenantRow } from './schema.js';

/** Part of a list, in the order of creation. */
export interface PageOptions {
  /** Of this tenant only. */
  readonly tenant?: string | undefined;
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  /** Id of the entry before it. */
  readonly after?: string | undefined;
}

export interface Listed<Entry> {
  readonly entries: readonly Entry[];
  readonly hasMore: boolean;
}

interface Rows {
  tenants: TenantRow;
  api_keys: ApiKeyRow;
  budgets: BudgetRow;
}

/** Whose each row is, and which rows are shown. */
const TABLES = {
  tenants: { owner: sql.ref('id'), visible: sql`1 = 1` },
  api_keys: { owner: sql.ref('tenant'), visible: sql`1 = 1` },
  budgets: { owner: sql.ref('tenant'), visible: sql`deleted_at is null` },
} as const;

/** @returns undefined when `after` names no entry of the list */
export async function pageOf<Table extends keyof Rows, Entry>(
  db: Kysely<AccessSchema>,
  table: Table,
  { tenant, limit, order, after }: PageOptions,
  entryOf: (row: Rows[Table]) => Entry,
): Promise<Listed<Entry> | undefined> {
  const { owner, visible } = TABLES[table];
  const mine = tenant === undefined ? visible : sql`${visible} and ${owner} = ${tenant}`;
  const from = sql.table(table);
  let wanted = mine;
  if (after !== undefined) {
    const { rows } = await sql<Rows[Table]>`select * from ${from} where ${mine} and id = ${after}`.execute(
      db,
    );
    if (rows[0] === undefined) return undefined;
    const behind = order === 'asc' ? sql`>` : sql`<`;
    wanted = sql`${mine} and (created_at, id) ${behind} (${rows[0].created_at}, ${after})`;
  }
  const direction = order === 'asc' ? sql`asc` : sql`desc`;
  const { rows } = await sql<Rows[Table]>`
    select * from ${from} where ${wanted}
    order by created_at ${direction}, id ${direction} limit ${limit + 1}`.execute(db);
  return { entries: rows.slice(0, limit).map(entryOf), hasMore: rows.length > limit };
}
