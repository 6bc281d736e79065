import { sql, type Kysely, type Transaction } from 'kysely';
import { inOrder } from './post.js';
import type { LedgerSchema } from './schema.js';

/** Where a hold is counted. */
export interface Place {
  readonly subject: string;
  readonly window: string;
}

/** States in which something is held. */
const OPEN_STATES = ['held', 'settled'] as const;

/**
 * Ends holds that are open; the first to end one wins, and what it held is free from then on.
 * @returns ids of those that were ended now
 */
export async function closeHolds(
  db: Transaction<LedgerSchema>,
  ids: readonly string[],
  state: 'booked' | 'released' | 'expired',
  from: readonly string[] = OPEN_STATES,
): Promise<readonly string[]> {
  if (ids.length === 0) return [];
  const closed = await db
    .updateTable('ledger_holds')
    .set({ state })
    .where('response_id', 'in', [...ids])
    .where('state', 'in', [...from])
    .returning(['response_id', 'amount', 'counted_in'])
    .execute();
  await hold(
    db,
    closed.flatMap(({ amount, counted_in }) =>
      placesOf(counted_in).map((place) => ({ place, amount: -amount })),
    ),
  );
  return closed.map(({ response_id }) => response_id);
}

/** Adds to what is held, without asking whether there is room. */
export async function hold(
  db: Kysely<LedgerSchema>,
  changes: readonly { readonly place: Place; readonly amount: number }[],
): Promise<void> {
  const sums = new Map<string, { place: Place; amount: number }>();
  for (const { place, amount } of changes) {
    const name = place.subject + place.window;
    sums.set(name, { place, amount: (sums.get(name)?.amount ?? 0) + amount });
  }
  for (const [, { place, amount }] of inOrder(sums)) {
    await db
      .updateTable('ledger_spend')
      .set({ held: sql<number>`held + ${amount}` })
      .where('subject', '=', place.subject)
      .where('time_window', '=', place.window)
      .execute();
  }
}

export function placesOf(json: string): readonly Place[] {
  return JSON.parse(json) as Place[];
}
