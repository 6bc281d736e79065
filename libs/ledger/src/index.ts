export { ACCOUNT } from './accounts.js';
export { usageTransactionId, type Booked } from './booking.js';
export { Booker } from './booker.js';
export { csv } from './csv.js';
export { DeadLetters, type NewDeadLetter, type Resolution } from './dead-letters.js';
export { bookDecision, DECISION_KINDS, type Decided, type DecisionOptions } from './decisions.js';
export { emptyInvoice, invoiceCsv, invoiceFor, type Invoice, type InvoiceLine } from './invoice.js';
export { Ledger, type Balance, type Decision, type LedgerFault } from './ledger.js';
export { SqlHolds, type SqlHoldsOptions } from './sql-holds.js';
export { reconcile, type Difference, type OtherBooks, type Reconciliation } from './reconcile.js';
export { rerate, type Rerated, type RerateOptions } from './rerate.js';
export {
  compareStatement,
  parseStatement,
  StatementError,
  type StatementDifference,
  type StatementLine,
} from './statement.js';
export type { DeadLetterRow, HoldRow, LedgerSchema, TransactionRow, UsageRow } from './schema.js';
export { moneyStory, type BookedTransaction, type MoneyStory } from './story.js';
export { UsageWorker, type UsageWorkerOptions } from './usage-worker.js';
export { USAGE_GROUPS, usageSums, type UsageFilter, type UsageGroup, type UsageSum } from './usage-report.js';
