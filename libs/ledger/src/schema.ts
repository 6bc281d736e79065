import type { StoreSchema } from '@turnpike/storage';

/** What one turn used. The whole record is there as JSON; the columns are what is asked for. */
export interface UsageRow {
  response_id: string;
  tenant: string;
  key: string;
  model: string;
  engine: string;
  transport: string;
  outcome: string;
  /** 0 or 1. */
  partial: number;
  /** What decided about the amount: see ChargeRule. */
  rule: string;
  /** Of the price book; null when there was no price. */
  price_version: string | null;
  /** Nano-dollars of the charge; corrections are transactions of their own. */
  amount: number;
  input: number;
  cached: number;
  cache_write: number;
  output: number;
  reasoning: number;
  image: number;
  /** 0 or 1: whether the response is kept. */
  stored: number;
  /** UTC day of the admission, `2026-01-31`. */
  day: string;
  /** Milliseconds since the epoch. */
  admitted_at: number;
  settled_at: number;
  booked_at: number;
  journal: string;
  /** Of the queue, that it came in; null when its gateway booked it without one, or nobody wrote that down. */
  job: string | null;
  /** Number of the settle record in that journal. */
  sequence: number;
  /** The usage record as JSON. */
  record: string;
}

/** One transaction: at least two entries that add up to zero, which the database checks. */
export interface TransactionRow {
  /** Made of what it books, so that booking the same again is refused. */
  id: string;
  /** `usage`, `correction`, `refund`, `write_off` or `payment`. */
  kind: string;
  tenant: string;
  /** Of the turn it belongs to. */
  response_id: string | null;
  /** UTC day it counts for. */
  day: string;
  booked_at: number;
  /** Why, and by whom, when a person or a rule decided. */
  reason: string | null;
  author: string | null;
  price_version: string | null;
}

/** One side of a transaction. */
export interface EntryRow {
  transaction_id: string;
  position: number;
  account: string;
  /** Nano-dollars; debits are positive. */
  amount: number;
}

/** The sum of an account's entries, kept up to date in the same transactions. */
export interface BalanceRow {
  account: string;
  balance: number;
  entries: number;
}

/** What a subject of budgets has spent in a window, and what is held for turns that run. */
export interface SpendRow {
  /** {@link subjectName} of @turnpike/metering. */
  subject: string;
  /** {@link windowOf} of @turnpike/metering. */
  time_window: string;
  spent: number;
  held: number;
}

/** What is held for one turn. */
export interface HoldRow {
  response_id: string;
  tenant: string;
  /** Nano-dollars: the worst case while `held`, the bill once `settled`. */
  amount: number;
  /** `held`, `settled` (waits for its booking), `booked`, `released` or `expired`. */
  state: string;
  /** Subjects and windows that it is counted in, as JSON. */
  counted_in: string;
  created_at: number;
  /** When it is taken for left behind, unless its gateway says that it is not. */
  expires_at: number;
}

/** A record, or a job, that could not be booked. */
export interface DeadLetterRow {
  id: string;
  /** What it was found in: name of the job. */
  job: string;
  response_id: string | null;
  tenant: string | null;
  reason: string;
  /** As it came. Usage records have no word of any prompt. */
  payload: string;
  failed_at: number;
  /** `open`, `booked` or `written_off`. */
  state: string;
  resolved_at: number | null;
  /** Why, and by whom. */
  resolution: string | null;
  author: string | null;
}

export interface LedgerTables {
  ledger_usage: UsageRow;
  ledger_transactions: TransactionRow;
  ledger_entries: EntryRow;
  ledger_balances: BalanceRow;
  ledger_spend: SpendRow;
  ledger_holds: HoldRow;
  ledger_dead_letters: DeadLetterRow;
}

/** The ledger shares the database of the store. */
export type LedgerSchema = StoreSchema & LedgerTables;
