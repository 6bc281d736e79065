import { chargeFor, type PriceBook, type Rates, type UsageRecord } from '@turnpike/metering';
import type { Ledger } from './ledger.js';
import { sql } from 'kysely';

export interface RerateOptions {
  readonly prices: PriceBook;
  /** The name that a model is billed by, of one that a record has; by default the same. */
  readonly modelOf?: ((name: string) => string) | undefined;
  /** Version whose prices are to hold; by default the one that held when each turn began. */
  readonly version?: string | undefined;
  readonly tenant?: string | undefined;
  /** UTC days, both included. */
  readonly from: string;
  readonly to: string;
  readonly reason: string;
  readonly author: string;
}

export interface Rerated {
  readonly turns: number;
  readonly corrected: number;
  /** Nano-dollars. */
  readonly difference: bigint;
}

const PAGE = 500;

/**
 * Rates turns again by what they used, and books what differs from what they have come to so far as corrections. A second
 * run finds nothing to correct.
 */
export async function rerate(ledger: Ledger, options: RerateOptions): Promise<Rerated> {
  let turns = 0;
  let corrected = 0;
  let difference = 0n;
  for (let after = ''; ;) {
    let query = ledger.db
      .selectFrom('ledger_usage')
      .select(['response_id', 'record', 'amount'])
      .where('day', '>=', options.from)
      .where('day', '<=', options.to)
      .where('response_id', '>', after)
      .orderBy('response_id')
      .limit(PAGE);
    if (options.tenant !== undefined) query = query.where('tenant', '=', options.tenant);
    const rows = await query.execute();
    for (const row of rows) {
      const record = JSON.parse(row.record) as UsageRecord;
      const change = await correctOne(ledger, record, row.amount, options);
      turns++;
      if (change !== 0n) corrected++;
      difference += change;
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return { turns, corrected, difference };
    after = last.response_id;
  }
}

async function correctOne(
  ledger: Ledger,
  record: UsageRecord,
  charged: number,
  { prices, modelOf = (name) => name, version, reason, author }: RerateOptions,
): Promise<bigint> {
  const model = modelOf(record.model);
  const rates: Rates | undefined =
    version === undefined ? prices.ratesAt(model, record.admittedAt) : prices.ratesOf(model, version);
  // Without a price there is nothing to say about what it should have been.
  if (rates === undefined) return 0n;
  const { amount } = chargeFor(record, rates);
  const earlier = await correctionsOf(ledger, record.id);
  const difference = BigInt(amount) - BigInt(charged) - earlier.sum;
  if (difference === 0n) return 0n;
  await ledger.correct({
    id: `${record.id}/${earlier.count + 1}`,
    tenant: record.tenant,
    responseId: record.id,
    difference,
    priceVersion: rates.version,
    reason,
    author,
  });
  return difference;
}

async function correctionsOf(
  ledger: Ledger,
  responseId: string,
): Promise<{ readonly sum: bigint; readonly count: number }> {
  const row = await ledger.db
    .selectFrom('ledger_transactions')
    .innerJoin('ledger_entries', 'transaction_id', 'id')
    .select([
      sql<string>`cast(coalesce(sum(amount), 0) as text)`.as('sum'),
      sql<string>`cast(count(*) as text)`.as('count'),
    ])
    .where('response_id', '=', responseId)
    .where('kind', '=', 'correction')
    .where('account', 'like', 'tenant:%')
    .executeTakeFirstOrThrow();
  return { sum: BigInt(row.sum), count: Number(row.count) };
}
