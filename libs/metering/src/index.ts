export { BudgetExceeded } from './allowance.js';
export { chargeFor, possible, priceOf } from './charge.js';
export type { Budget, BudgetSource, BudgetTurn, HoldRequest, HoldResult, Holds } from './holds.js';
export { Journal, JournalFull, type JournalOptions } from './journal/journal.js';
export { Journals, type JournalsOptions } from './journal/journals.js';
export { pendingIn } from './journal/pending.js';
export { JournalReader, type JournalBatch, type JournalFault } from './journal/reader.js';
export { Meter, type MeterOptions } from './meter.js';
export { dollars, NANO_PER_DOLLAR, rowAmount, scaled } from './money.js';
export { parseUsageRecord } from './parse-record.js';
export { DEFAULT_PRICES, PriceBook, PriceBookError, type Rates, type TokenRates } from './price-book.js';
export { responsesIn, USAGE_QUEUE, usageJobId, type UsageJob } from './queue/job.js';
export {
  checkRedis,
  connect,
  CONSUMER,
  EvictionError,
  requireNoEviction,
  UnfitRedis,
} from './queue/redis.js';
export { UsageQueue, type UsageQueueOptions } from './queue/usage-queue.js';
export { Relay, type RelayOptions } from './relay.js';
export type { MeteredTurn } from './metered-turn.js';
export { TurnMeter, type Dispatch, type TurnEnd } from './turn-meter.js';
export {
  totalOf,
  type Admission,
  type Charge,
  type ChargeRule,
  type Outcome,
  type Purpose,
  type TokenCounts,
  type UsagePart,
  type UsageRecord,
} from './usage-record.js';
export type { UsageSink } from './usage-sink.js';
export {
  dayOf,
  isDay,
  subjectName,
  subjectsOf,
  windowOf,
  type BudgetSubject,
  type Period,
} from './windows.js';
