import type { BudgetSource, Holds } from './holds.js';
import type { Journal } from './journal/journal.js';
import type { PriceBook } from './price-book.js';

/** What metering a turn takes. */
export interface MeteringOptions {
  readonly journal: Pick<Journal, 'admit' | 'progress' | 'settle' | 'isFull'>;
  readonly prices: PriceBook;
  /** Without them nobody's spending is limited. */
  readonly budgets?: BudgetSource | undefined;
  readonly holds?: Holds | undefined;
  /** Tokens of output between two progress records: what a crash can leave unbilled of a turn. */
  readonly progressTokens: number;
  /** Tokens of output that are held at a time for a request without `max_output_tokens`. */
  readonly holdOutputTokens: number;
  readonly now?: (() => number) | undefined;
  /** Called when a hold could not be ended; its booking, or its expiry, does. */
  readonly onHoldFailure?: ((error: unknown) => void) | undefined;
}
