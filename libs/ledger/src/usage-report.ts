import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import type { LedgerSchema } from './schema.js';

/** By what usage can be added up. */
export const USAGE_GROUPS = ['day', 'tenant', 'key', 'model', 'engine', 'outcome', 'price_version'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

/** Which turns. Days are those of UTC, as `2026-01-31`; both are included. */
export interface UsageFilter {
  readonly tenant?: string | undefined;
  readonly key?: string | undefined;
  readonly model?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** Sums over turns that have these names in common. */
export interface UsageSum {
  readonly group: Readonly<Partial<Record<UsageGroup, string>>>;
  readonly turns: number;
  readonly partial: number;
  readonly unpriced: number;
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly reasoning: number;
  /** Nano-dollars of charges; corrections and refunds are not among them. */
  readonly amount: bigint;
}

/** Usage added up by days, tenants, keys, models, or several of them; in the order of their names. */
export async function usageSums(
  db: Kysely<LedgerSchema>,
  by: readonly UsageGroup[],
  filter: UsageFilter = {},
): Promise<readonly UsageSum[]> {
  const sum = (column: string) => sql<string>`cast(coalesce(sum(${sql.ref(column)}), 0) as text)`;
  let query = db
    .selectFrom('ledger_usage')
    .select([
      sql<string>`cast(count(*) as text)`.as('turns'),
      sum('partial').as('partial'),
      sql<string>`cast(coalesce(sum(case when rule = 'unpriced' then 1 else 0 end), 0) as text)`.as(
        'unpriced',
      ),
      sum('input').as('input'),
      sum('cached').as('cached'),
      sum('output').as('output'),
      sum('reasoning').as('reasoning'),
      sum('amount').as('amount'),
    ]);
  for (const name of by) query = query.select(`${name} as ${name}`).groupBy(name).orderBy(name);
  for (const name of ['tenant', 'key', 'model'] as const) {
    const value = filter[name];
    if (value !== undefined) query = query.where(name, '=', value);
  }
  if (filter.from !== undefined) query = query.where('day', '>=', filter.from);
  if (filter.to !== undefined) query = query.where('day', '<=', filter.to);
  const rows = (await query.execute()) as unknown as Record<string, string>[];
  return rows.map((row) => ({
    group: Object.fromEntries(by.map((name) => [name, row[name] ?? ''])),
    turns: Number(row['turns']),
    partial: Number(row['partial']),
    unpriced: Number(row['unpriced']),
    input: Number(row['input']),
    cached: Number(row['cached']),
    output: Number(row['output']),
    reasoning: Number(row['reasoning']),
    amount: BigInt(row['amount'] ?? 0),
  }));
}
