import { sql, type Kysely, type Transaction } from 'kysely';
import { inOrder } from './post.js';
import type { HoldRow, LedgerSchema } from './schema.js';

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
  const closed = await endHolds(db, ids, state, from);
  await freeHeld(db, closed);
  return closed.map(({ response_id }) => response_id);
}

/** A hold that has ended in this transaction, and still counts. */
export type EndedHold = Pick<HoldRow, 'response_id' | 'amount' | 'counted_in'>;

/** The first half of {@link closeHolds}: rows of holds are taken before those of what was spent, as by all who take both. */
export async function endHolds(
  db: Transaction<LedgerSchema>,
  ids: readonly string[],
  state: 'booked' | 'released' | 'expired',
  from: readonly string[] = OPEN_STATES,
): Promise<readonly EndedHold[]> {
  if (ids.length === 0) return [];
  return db
    .updateTable('ledger_holds')
    .set({ state })
    .where('response_id', 'in', [...ids])
    .where('state', 'in', [...from])
    .returning(['response_id', 'amount', 'counted_in'])
    .execute();
}

/** The second half: what they held is free. */
export async function freeHeld(db: Transaction<LedgerSchema>, ended: readonly EndedHold[]): Promise<void> {
  await hold(
    db,
    ended.flatMap(({ amount, counted_in }) =>
      placesOf(counted_in).map((place) => ({ place, amount: -amount })),
    ),
  );
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
