export { ACCOUNT } from './accounts.js';
export { usageTransactionId, type Booked } from './booking.js';
export { DeadLetters, type NewDeadLetter, type Resolution } from './dead-letters.js';
export { Ledger, type Balance, type Decision, type LedgerFault } from './ledger.js';
export { SqlHolds, type SqlHoldsOptions } from './sql-holds.js';
export type { DeadLetterRow, HoldRow, LedgerSchema, TransactionRow, UsageRow } from './schema.js';
export { moneyStory, type BookedTransaction, type MoneyStory } from './story.js';
export { USAGE_GROUPS, usageSums, type UsageFilter, type UsageGroup, type UsageSum } from './usage-report.js';
