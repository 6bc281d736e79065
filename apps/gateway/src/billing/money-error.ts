import { BudgetExceeded, JournalFull } from '@turnpike/metering';
import { ApiError } from '@turnpike/protocol';

/** What a client is told when its turn cannot be paid for, or cannot be written down; anything else stays what it is. */
export function moneyError(thrown: unknown): unknown {
  if (thrown instanceof BudgetExceeded) {
    return new ApiError('insufficient_quota', { message: `You exceeded your quota. ${thrown.message}` });
  }
  // What is held lies in the database of the store.
  const isAway = thrown instanceof ApiError && thrown.code === 'store_unavailable';
  return thrown instanceof JournalFull || isAway
    ? new ApiError('metering_unavailable', { cause: thrown })
    : thrown;
}
