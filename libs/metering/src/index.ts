export { chargeFor, possible, priceOf } from './charge.js';
export { dollars, NANO_PER_DOLLAR, rowAmount, scaled } from './money.js';
export { parseUsageRecord } from './parse-record.js';
export { DEFAULT_PRICES, PriceBook, PriceBookError, type Rates, type TokenRates } from './price-book.js';
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
export { dayOf, subjectName, subjectsOf, windowOf, type BudgetSubject, type Period } from './windows.js';
