import type { UsageRecord } from '@turnpike/metering';
import type { Kysely } from 'kysely';
import type { DeadLetterRow, EntryRow, HoldRow, LedgerSchema, TransactionRow } from './schema.js';

/** A transaction with its entries. */
export interface BookedTransaction extends TransactionRow {
  readonly entries: readonly Omit<EntryRow, 'transaction_id'>[];
}

/** Everything that is known of the money of one response. */
export interface MoneyStory {
  readonly responseId: string;
  /**
   * What its gateway wrote down: admitted, progress, settled, and in which journal under which numbers. Undefined when it
   * has not been booked.
   */
  readonly record: UsageRecord | undefined;
  /** When it was booked, ms since the epoch. */
  readonly bookedAt: number | undefined;
  /** The job of the queue that brought it; undefined when its gateway booked it without one. */
  readonly job: string | undefined;
  readonly hold: HoldRow | undefined;
  /** In the order in which they were booked. */
  readonly transactions: readonly BookedTransaction[];
  readonly deadLetters: readonly DeadLetterRow[];
}

/** The story of one response's money. What is not known of it is empty; the caller decides who may see it. */
export async function moneyStory(db: Kysely<LedgerSchema>, responseId: string): Promise<MoneyStory> {
  const usage = await db
    .selectFrom('ledger_usage')
    .select(['record', 'booked_at', 'job'])
    .where('response_id', '=', responseId)
    .executeTakeFirst();
  const hold = await db
    .selectFrom('ledger_holds')
    .selectAll()
    .where('response_id', '=', responseId)
    .executeTakeFirst();
  const transactions = await db
    .selectFrom('ledger_transactions')
    .selectAll()
    .where('response_id', '=', responseId)
    .orderBy('booked_at')
    .orderBy('id')
    .execute();
  const entries = await db
    .selectFrom('ledger_entries')
    .innerJoin('ledger_transactions', 'id', 'transaction_id')
    .selectAll('ledger_entries')
    .where('response_id', '=', responseId)
    .orderBy('position')
    .execute();
  const deadLetters = await db
    .selectFrom('ledger_dead_letters')
    .selectAll()
    .where('response_id', '=', responseId)
    .orderBy('failed_at')
    .execute();
  return {
    responseId,
    record: usage && (JSON.parse(usage.record) as UsageRecord),
    bookedAt: usage?.booked_at,
    job: usage?.job ?? undefined,
    hold,
    transactions: transactions.map((transaction) => ({
      ...transaction,
      entries: entries
        .filter(({ transaction_id }) => transaction_id === transaction.id)
        .map(({ transaction_id: _, ...entry }) => entry),
    })),
    deadLetters,
  };
}
