import {
  subjectName,
  windowOf,
  type Budget,
  type HoldRequest,
  type HoldResult,
  type Holds,
} from '@turnpike/metering';
import type { DatabaseKind } from '@turnpike/storage';
import { sql, type Kysely, type RawBuilder, type Transaction } from 'kysely';
import { closeHolds, hold, placesOf, type Place } from './hold-rows.js';
import { inOrder } from './post.js';
import type { LedgerSchema } from './schema.js';

export interface SqlHoldsOptions {
  readonly kind: DatabaseKind;
  /** How long a hold lasts without being renewed, in ms. */
  readonly leaseMs: number;
  /** Called for a budget in shadow mode that would have refused. */
  readonly onShadow?: ((budget: Budget, request: HoldRequest) => void) | undefined;
}

/** How long holds that have ended are kept for the stories of their responses, in ms. */
const KEPT_MS = 30 * 24 * 60 * 60_000;
const SWEEP_ROWS = 500;

/** Now, in ms, by the one clock that all gateways share. */
const NOW: Record<DatabaseKind, RawBuilder<number>> = {
  sqlite: sql<number>`cast(unixepoch('subsec') * 1000 as integer)`,
  postgres: sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`,
};

/** What one place is asked for. */
interface Asked {
  readonly place: Place;
  /** The strictest budget that refuses. */
  readonly limit: Budget | undefined;
  readonly shadows: readonly Budget[];
}

/** Ends a reservation that is refused, and its transaction with it. */
class Refused extends Error {
  constructor(readonly budget: Budget) {
    super('refused');
  }
}

/** Holds in the database of the ledger: gateways that share it share them. */
export class SqlHolds implements Holds {
  readonly #db: Kysely<LedgerSchema>;
  readonly #options: SqlHoldsOptions;

  constructor(db: Kysely<LedgerSchema>, options: SqlHoldsOptions) {
    this.#db = db;
    this.#options = options;
  }

  reserve(request: HoldRequest, budgets: readonly Budget[]): Promise<HoldResult> {
    return this.#take(request, budgets, async (db, counted) => {
      const { id, tenant, amount } = request;
      await db
        .insertInto('ledger_holds')
        .values({
          response_id: id,
          tenant,
          amount,
          state: 'held',
          counted_in: JSON.stringify(counted),
          created_at: this.#now,
          expires_at: this.#expiry,
        })
        .execute();
    });
  }

  extend(request: HoldRequest, budgets: readonly Budget[]): Promise<HoldResult> {
    return this.#take(request, budgets, async (db) => {
      // One that has expired holds nothing any more, and begins again with what is taken now.
      const { numUpdatedRows } = await db
        .updateTable('ledger_holds')
        .set({
          amount: sql<number>`case when state = 'held' then amount else 0 end + ${request.amount}`,
          state: 'held',
          expires_at: this.#expiry,
        })
        .where('response_id', '=', request.id)
        .where('state', 'in', ['held', 'expired'])
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) throw new Error('nothing is held for this turn');
    });
  }

  settle(id: string, amount: number): Promise<void> {
    return this.#db.transaction().execute(async (db) => {
      const row = await db
        .selectFrom('ledger_holds')
        .select(['amount', 'counted_in'])
        .where('response_id', '=', id)
        .where('state', '=', 'held')
        .executeTakeFirst();
      if (row === undefined) return;
      const { numUpdatedRows } = await db
        .updateTable('ledger_holds')
        .set({ state: 'settled', amount })
        .where('response_id', '=', id)
        .where('state', '=', 'held')
        .where('amount', '=', row.amount)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) return;
      const change = amount - row.amount;
      await hold(
        db,
        placesOf(row.counted_in).map((place) => ({ place, amount: change })),
      );
    });
  }

  async release(id: string): Promise<void> {
    await this.#db.transaction().execute((db) => closeHolds(db, [id], 'released', ['held']));
  }

  async renew(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.#db
      .updateTable('ledger_holds')
      .set({ expires_at: this.#expiry })
      .where('response_id', 'in', [...ids])
      .where('state', '=', 'held')
      .execute();
  }

  /**
   * Ends what was left behind, and forgets what ended long ago.
   * @returns ids of holds that have expired
   */
  async sweep(): Promise<readonly string[]> {
    const expired: string[] = [];
    for (;;) {
      const rows = await this.#db
        .selectFrom('ledger_holds')
        .select('response_id')
        .where('state', '=', 'held')
        .where('expires_at', '<', this.#now)
        .limit(SWEEP_ROWS)
        .execute();
      const ids = rows.map(({ response_id }) => response_id);
      expired.push(
        ...(await this.#db.transaction().execute((db) => closeHolds(db, ids, 'expired', ['held']))),
      );
      if (ids.length < SWEEP_ROWS) break;
    }
    await this.#db
      .deleteFrom('ledger_holds')
      .where('state', 'in', ['booked', 'released', 'expired'])
      .where('created_at', '<', sql<number>`${this.#now} - ${KEPT_MS}`)
      .execute();
    return expired;
  }

  async #take(
    request: HoldRequest,
    budgets: readonly Budget[],
    write: (db: Transaction<LedgerSchema>, counted: readonly Place[]) => Promise<void>,
  ): Promise<HoldResult> {
    const asked = askedOf(request, budgets);
    const exceeded: Budget[] = [];
    try {
      await this.#db.transaction().execute(async (db) => {
        await write(
          db,
          asked.map(({ place }) => place),
        );
        for (const each of asked) exceeded.push(...(await takeFrom(db, each, request.amount)));
      });
    } catch (thrown) {
      if (thrown instanceof Refused) return { kind: 'refused', budget: thrown.budget };
      throw thrown;
    }
    for (const budget of exceeded) this.#options.onShadow?.(budget, request);
    return { kind: 'held' };
  }

  get #now(): RawBuilder<number> {
    return NOW[this.#options.kind];
  }

  get #expiry(): RawBuilder<number> {
    return sql<number>`${this.#now} + ${sql.lit(this.#options.leaseMs)}`;
  }
}

/** Takes an amount out of one place; returns the budgets in shadow mode that had no room for it. */
async function takeFrom(
  db: Transaction<LedgerSchema>,
  { place, limit, shadows }: Asked,
  amount: number,
): Promise<readonly Budget[]> {
  const { subject, window } = place;
  await db
    .insertInto('ledger_spend')
    .values({ subject, time_window: window, spent: 0, held: 0 })
    .onConflict((conflict) => conflict.columns(['subject', 'time_window']).doNothing())
    .execute();
  let update = db
    .updateTable('ledger_spend')
    .set({ held: sql<number>`held + ${amount}` })
    .where('subject', '=', subject)
    .where('time_window', '=', window)
    .returning(sql<number>`spent + held`.as('used'));
  // The check and the change are one statement: two who ask at once cannot both get what is there once.
  if (limit !== undefined) update = update.where(sql<boolean>`spent + held + ${amount} <= ${limit.limit}`);
  const row = await update.executeTakeFirst();
  if (row === undefined && limit !== undefined) throw new Refused(limit);
  return shadows.filter((budget) => Number(row?.used) > budget.limit);
}

/** Where a turn is counted, in the one order in which all take rows. */
function askedOf({ at }: HoldRequest, budgets: readonly Budget[]): readonly Asked[] {
  const asked = new Map<string, Asked>();
  for (const budget of budgets) {
    const place = { subject: subjectName(budget.subject), window: windowOf(budget.period, at) };
    const name = place.subject + place.window;
    const { limit, shadows } = asked.get(name) ?? { limit: undefined, shadows: [] };
    asked.set(
      name,
      budget.shadow
        ? { place, limit, shadows: [...shadows, budget] }
        : {
            place,
            limit: limit === undefined || budget.limit < limit.limit ? budget : limit,
            shadows,
          },
    );
  }
  return inOrder(asked).map(([, each]) => each);
}
