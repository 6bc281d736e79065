import type { BudgetSubject, Period } from './windows.js';

/** What a subject may spend in a period. */
export interface Budget {
  /** For messages and reports. */
  readonly name: string;
  readonly subject: BudgetSubject;
  readonly period: Period;
  /** Nano-dollars, a safe integer. */
  readonly limit: number;
  /** Whether it only reports what it would have refused. */
  readonly shadow: boolean;
}

/** For whom a turn is. */
export interface BudgetTurn {
  readonly tenant: string;
  readonly key: string;
  readonly model: string;
}

/** Which budgets there are. Asked once a turn, so what is changed holds from the next turn on. */
export interface BudgetSource {
  budgetsOf(turn: BudgetTurn): readonly Budget[] | Promise<readonly Budget[]>;
}

/** What is to be held. */
export interface HoldRequest extends BudgetTurn {
  /** Our response id. */
  readonly id: string;
  /** Decides about the windows; ms since the epoch. */
  readonly at: number;
  /** Nano-dollars. */
  readonly amount: number;
}

export type HoldResult =
  | { readonly kind: 'held' }
  /** The first budget that has no room for it. */
  | { readonly kind: 'refused'; readonly budget: Budget };

/** What is held for turns that run, over all gateways. The first of settle, release and expiry ends a hold. */
export interface Holds {
  /** Takes an amount out of every budget, or out of none. */
  reserve(request: HoldRequest, budgets: readonly Budget[]): Promise<HoldResult>;
  /** The same for more on top of what is held for a turn. */
  extend(request: HoldRequest, budgets: readonly Budget[]): Promise<HoldResult>;
  /** The turn costs that: the rest is free at once; the bill stays held until the ledger has booked it. */
  settle(id: string, amount: number): Promise<void>;
  /** The turn costs nothing. */
  release(id: string): Promise<void>;
  /** Their gateway lives. */
  renew(ids: readonly string[]): Promise<void>;
}
