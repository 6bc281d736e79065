import { dayOf, possible, totalOf, type UsageRecord } from '@turnpike/metering';
import type { Transaction } from 'kysely';
import { ACCOUNT } from './accounts.js';
import { endHolds, freeHeld } from './hold-rows.js';
import { inOrder, post, spend, type NewTransaction } from './post.js';
import type { LedgerSchema, UsageRow } from './schema.js';

/** What became of a batch. */
export interface Booked {
  /** Response ids that were booked now. */
  readonly booked: readonly string[];
  /** Those that were there before: a delivery that was repeated. */
  readonly known: readonly string[];
}

/** Id of the transaction that books what a turn used. There is one for each response. */
export function usageTransactionId(responseId: string): string {
  return `usage:${responseId}`;
}

/**
 * Books what is new of a batch, and nothing of it when one record cannot be booked.
 * @param job of the queue, that brought it; null for none
 */
export async function bookIn(
  db: Transaction<LedgerSchema>,
  records: readonly UsageRecord[],
  now: number,
  job: string | null,
): Promise<Booked> {
  const byId = new Map(records.map((record) => [record.id, record]));
  if (byId.size === 0) return { booked: [], known: [] };
  const inserted = await db
    .insertInto('ledger_usage')
    .values(inOrder(byId).map(([, record]) => rowOf(record, now, job)))
    .onConflict((conflict) => conflict.column('response_id').doNothing())
    .returning('response_id')
    .execute();
  const booked = inserted.map(({ response_id }) => response_id);
  const isNew = new Set(booked);
  const known = [...byId.keys()].filter((id) => !isNew.has(id));
  const fresh = booked.flatMap((id) => byId.get(id) ?? []);
  const ended = await endHolds(db, booked, 'booked');
  // Takes every row that anything can be held in, in order, before the first of them is taken for that alone.
  await spend(
    db,
    fresh.map(({ tenant, key, model, admittedAt, amount }) => ({
      tenant,
      key,
      model,
      at: admittedAt,
      amount,
    })),
  );
  await freeHeld(db, ended);
  await post(db, fresh.map(transactionOf), now);
  return { booked, known };
}

function transactionOf({ id, tenant, model, amount, priceVersion, admittedAt }: UsageRecord): NewTransaction {
  return {
    id: usageTransactionId(id),
    kind: 'usage',
    tenant,
    response_id: id,
    day: dayOf(admittedAt),
    reason: null,
    author: null,
    price_version: priceVersion,
    entries: [
      { account: ACCOUNT.tenant(tenant), amount },
      { account: ACCOUNT.revenue(model), amount: amount === 0 ? 0 : -amount },
    ],
  };
}

function rowOf(record: UsageRecord, now: number, job: string | null): UsageRow {
  const tokens = possible(totalOf(record.parts));
  return {
    response_id: record.id,
    tenant: record.tenant,
    key: record.key,
    model: record.model,
    engine: record.engine,
    transport: record.transport,
    outcome: record.outcome,
    partial: record.partial ? 1 : 0,
    rule: record.rule,
    price_version: record.priceVersion,
    amount: record.amount,
    input: tokens.input,
    cached: tokens.cached,
    cache_write: tokens.cacheWrite,
    output: tokens.output,
    reasoning: tokens.reasoning,
    image: tokens.image,
    stored: record.stored ? 1 : 0,
    day: dayOf(record.admittedAt),
    admitted_at: record.admittedAt,
    settled_at: record.settledAt,
    booked_at: now,
    journal: record.journal,
    // Without a queue, what a gateway books comes straight from its journal.
    job: job === record.journal ? null : job,
    sequence: record.settleSequence,
    record: JSON.stringify(record),
  };
}
