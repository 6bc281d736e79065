import { dayOf, parseUsageRecord } from '@turnpike/metering';
import { createHash } from 'node:crypto';
import { ACCOUNT } from './accounts.js';
import { bookIn } from './booking.js';
import { closeHolds } from './hold-rows.js';
import type { Ledger } from './ledger.js';
import { post } from './post.js';
import type { DeadLetterRow } from './schema.js';

/** Something that could not be booked. */
export interface NewDeadLetter {
  /** Name of the job it was in. */
  readonly job: string;
  readonly payload: unknown;
  readonly reason: string;
}

/** Who resolves one, and why. */
export interface Resolution {
  readonly author: string;
  readonly reason: string;
}

/** What could not be booked, kept with its reason until a person has decided about it. */
export class DeadLetters {
  readonly #ledger: Ledger;
  readonly #now: () => number;

  constructor(ledger: Ledger, now: () => number = Date.now) {
    this.#ledger = ledger;
    this.#now = now;
  }

  /** Keeps one. The same payload of the same job is kept once, however often it is delivered. */
  async add({ job, payload, reason }: NewDeadLetter): Promise<void> {
    const text = JSON.stringify(payload) ?? 'null';
    const { id, tenant } = (typeof payload === 'object' && payload !== null ? payload : {}) as Record<
      string,
      unknown
    >;
    await this.#ledger.db
      .insertInto('ledger_dead_letters')
      .values({
        id: `dl_${createHash('sha256').update(`${job}\n${text}`).digest('hex').slice(0, 40)}`,
        job: storable(job),
        response_id: typeof id === 'string' ? storable(id) : null,
        tenant: typeof tenant === 'string' ? storable(tenant) : null,
        reason: storable(reason),
        payload: text,
        failed_at: this.#now(),
        state: 'open',
        resolved_at: null,
        resolution: null,
        author: null,
      })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute();
  }

  /** The latest first. */
  list(state?: 'open' | 'booked' | 'written_off', most = 100): Promise<readonly DeadLetterRow[]> {
    const query = this.#ledger.db
      .selectFrom('ledger_dead_letters')
      .selectAll()
      .orderBy('failed_at', 'desc')
      .orderBy('id')
      .limit(most);
    return (state === undefined ? query : query.where('state', '=', state)).execute();
  }

  /**
   * Books what it holds, as after a repair.
   * @returns false when it is not open
   * @throws Error when it still cannot be booked
   */
  retry(id: string, { author, reason }: Resolution): Promise<boolean> {
    return this.#ledger.db.transaction().execute(async (db) => {
      const letter = await this.#take(db, id, 'booked', { author, reason });
      if (letter === undefined) return false;
      await bookIn(db, [parseUsageRecord(JSON.parse(letter.payload))], this.#now(), letter.job);
      return true;
    });
  }

  /**
   * Gives it up. What it would have cost, where that can be read, is booked as earned and written off, with the reason.
   * @returns false when it is not open
   */
  writeOff(id: string, { author, reason }: Resolution): Promise<boolean> {
    return this.#ledger.db.transaction().execute(async (db) => {
      const letter = await this.#take(db, id, 'written_off', { author, reason });
      if (letter === undefined) return false;
      const now = this.#now();
      // What was settled waits to be booked, and this never is.
      if (letter.response_id !== null) await closeHolds(db, [letter.response_id], 'released');
      const { amount, model } = costOf(letter.payload);
      const transaction = {
        id: `write_off:${id}`,
        kind: 'write_off',
        tenant: letter.tenant ?? '',
        response_id: letter.response_id,
        day: dayOf(now),
        reason,
        author,
        price_version: null,
        entries: [
          { account: ACCOUNT.writtenOff, amount },
          { account: ACCOUNT.revenue(model), amount: amount === 0 ? 0 : -amount },
        ],
      };
      await post(db, [transaction], now);
      return true;
    });
  }

  /** Ends one that is open; two who want to resolve it cannot both. */
  async #take(
    db: Parameters<typeof bookIn>[0],
    id: string,
    state: 'booked' | 'written_off',
    { author, reason }: Resolution,
  ): Promise<DeadLetterRow | undefined> {
    return db
      .updateTable('ledger_dead_letters')
      .set({ state, author, resolution: reason, resolved_at: this.#now() })
      .where('id', '=', id)
      .where('state', '=', 'open')
      .returningAll()
      .executeTakeFirst();
  }
}

/** Text for a column: Postgres holds no NUL, and what could not be kept here would come again without end. */
function storable(text: string): string {
  return text.replaceAll('\0', '\uFFFD');
}

function costOf(payload: string): { amount: number; model: string } {
  const { amount, model } = Object(JSON.parse(payload)) as Record<string, unknown>;
  return {
    amount: Number.isSafeInteger(amount) && Number(amount) > 0 ? Number(amount) : 0,
    model: typeof model === 'string' ? model : 'unknown',
  };
}
