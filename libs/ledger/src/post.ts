import { rowAmount, subjectName, subjectsOf, windowOf, type Period } from '@turnpike/metering';
import type { Transaction } from 'kysely';
import type { LedgerSchema, TransactionRow } from './schema.js';

/** A transaction that is to be booked. */
export interface NewTransaction extends Omit<TransactionRow, 'booked_at'> {
  /** Two or more that add up to zero. */
  readonly entries: readonly { readonly account: string; readonly amount: number }[];
}

/** What is added to what subjects of budgets have spent. */
export interface SpendChange {
  readonly tenant: string;
  readonly key: string;
  readonly model: string;
  /** Decides about the windows; ms since the epoch. */
  readonly at: number;
  /** Nano-dollars. */
  readonly amount: number;
}

const PERIODS: readonly Period[] = ['day', 'month', 'total'];

/**
 * Books transactions that are not there yet, and keeps the balances. Rows that many write are taken in one order, so that
 * writers wait for each other and never both ways.
 * @throws Error when one is there, or its entries do not add up to zero; RangeError when together they are more than a number holds
 */
export async function post(
  db: Transaction<LedgerSchema>,
  transactions: readonly NewTransaction[],
  now: number,
): Promise<void> {
  if (transactions.length === 0) return;
  const entries = transactions.flatMap(({ id, entries }) =>
    entries.map(({ account, amount }, position) => ({ transaction_id: id, position, account, amount })),
  );
  await db.insertInto('ledger_entries').values(entries).execute();
  await db
    .insertInto('ledger_transactions')
    .values(transactions.map(({ entries: _, ...row }) => ({ ...row, booked_at: now })))
    .execute();
  const balances = new Map<string, { balance: number; entries: number }>();
  for (const { account, amount } of entries) {
    const { balance, entries } = balances.get(account) ?? { balance: 0, entries: 0 };
    balances.set(account, { balance: sumOf(balance, amount), entries: entries + 1 });
  }
  await db
    .insertInto('ledger_balances')
    .values(inOrder(balances).map(([account, row]) => ({ account, ...row })))
    .onConflict((conflict) =>
      conflict.column('account').doUpdateSet((eb) => ({
        balance: eb('ledger_balances.balance', '+', eb.ref('excluded.balance')),
        entries: eb('ledger_balances.entries', '+', eb.ref('excluded.entries')),
      })),
    )
    .execute();
}

/** Adds to what was spent; budgets that are made later find it as well. */
export async function spend(db: Transaction<LedgerSchema>, changes: readonly SpendChange[]): Promise<void> {
  const sums = new Map<string, { subject: string; time_window: string; spent: number }>();
  for (const change of changes) {
    for (const subject of subjectsOf(change)) {
      for (const period of PERIODS) {
        const row = { subject: subjectName(subject), time_window: windowOf(period, change.at) };
        const name = row.subject + row.time_window;
        sums.set(name, { ...row, spent: sumOf(sums.get(name)?.spent ?? 0, change.amount) });
      }
    }
  }
  if (sums.size === 0) return;
  await db
    .insertInto('ledger_spend')
    .values(inOrder(sums).map(([, row]) => ({ ...row, held: 0 })))
    .onConflict((conflict) =>
      conflict.columns(['subject', 'time_window']).doUpdateSet((eb) => ({
        spent: eb('ledger_spend.spent', '+', eb.ref('excluded.spent')),
      })),
    )
    .execute();
}

/** @throws RangeError for a sum that is not exact: fewer at once are */
function sumOf(a: number, b: number): number {
  return rowAmount(BigInt(a) + BigInt(b));
}

/** Entries of a map in the order of their names. */
export function inOrder<V>(map: ReadonlyMap<string, V>): [string, V][] {
  return [...map].sort(([a], [b]) => (a < b ? -1 : 1));
}
