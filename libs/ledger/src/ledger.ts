import { migrate, type DatabaseKind, type StoreSchema } from '@turnpike/storage';
import { dayOf, dollars, rowAmount, type UsageRecord } from '@turnpike/metering';
import { sql, type Kysely, type Transaction } from 'kysely';
import { ACCOUNT } from './accounts.js';
import { bookIn, type Booked } from './booking.js';
import { LEDGER_HISTORY } from './migrations.js';
import { post, spend, type NewTransaction } from './post.js';
import type { LedgerSchema, UsageRow } from './schema.js';

/** Something that a person, or a rule of theirs, decided about what a tenant owes. */
export interface Decision {
  /** Made by whoever decides: the same id a second time changes nothing. */
  readonly id: string;
  /** `refund` and `write_off` lower what is owed, `payment` says that it was paid. */
  readonly kind: 'refund' | 'write_off' | 'payment';
  readonly tenant: string;
  /** The turn it is about; its budgets get back what is refunded or written off. */
  readonly responseId?: string | undefined;
  /** Nano-dollars, more than zero but for what was never charged. */
  readonly amount: bigint;
  readonly reason: string;
  /** Who decided. */
  readonly author: string;
}

/** What an account holds. */
export interface Balance {
  readonly account: string;
  /** Nano-dollars; what is owed is positive. */
  readonly balance: bigint;
  readonly entries: number;
}

/** A difference between what is cached and what the entries say, or a transaction that is not balanced. */
export interface LedgerFault {
  readonly what: 'balance' | 'transaction' | 'spend';
  readonly name: string;
  readonly expected: string;
  readonly found: string;
}

/** More would be given back for a turn than it has come to, with its corrections, and what was given back before. */
export class ExceedsCharge extends RangeError {
  override readonly name = 'ExceedsCharge';

  /** @param charged nano-dollars that are left of it */
  constructor(readonly charged: bigint) {
    super(`more than the response has come to: ${dollars(charged)}`);
  }
}

const OTHER_SIDE: Record<Decision['kind'], string> = {
  refund: ACCOUNT.refunds,
  write_off: ACCOUNT.writtenOff,
  payment: ACCOUNT.cash,
};

/**
 * Double-entry accounts in SQL. Whatever is delivered twice is booked once; nothing that is booked ever changes; balances
 * are sums of entries that are kept beside them.
 */
export class Ledger {
  readonly #db: Kysely<LedgerSchema>;
  readonly #now: () => number;

  readonly #kind: DatabaseKind;

  private constructor(db: Kysely<LedgerSchema>, kind: DatabaseKind, now: () => number) {
    this.#db = db;
    this.#kind = kind;
    this.#now = now;
  }

  /**
   * @param db of the store; the ledger's own tables are brought up to date
   * @param now a clock in ms
   * @throws Error when they belong to a newer version
   */
  static async open(
    db: Kysely<StoreSchema>,
    kind: DatabaseKind,
    now: () => number = Date.now,
  ): Promise<Ledger> {
    await migrate(db, kind, LEDGER_HISTORY);
    return new Ledger(db, kind, now);
  }

  /** The database, for the queries beside this class. */
  get db(): Kysely<LedgerSchema> {
    return this.#db;
  }

  /**
   * Books a batch of usage records in one transaction. Records of responses that are booked change nothing.
   * @param job of the queue, that brought them
   */
  book(records: readonly UsageRecord[], job?: string): Promise<Booked> {
    return this.#db.transaction().execute((db) => bookIn(db, records, this.#now(), job ?? null));
  }

  /** Which of these response ids are neither booked nor dead letters. */
  async missing(responseIds: readonly string[]): Promise<readonly string[]> {
    const known = new Set<string | null>();
    for (const table of ['ledger_usage', 'ledger_dead_letters'] as const) {
      const rows = await this.#db
        .selectFrom(table)
        .select('response_id')
        .where('response_id', 'in', [...responseIds])
        .execute();
      for (const { response_id } of rows) known.add(response_id);
    }
    return responseIds.filter((id) => !known.has(id));
  }

  /**
   * Books a decision.
   * @returns false when it was booked before
   * @throws RangeError for a negative amount; ExceedsCharge; Error for a response that another tenant made, or none
   */
  async decide(decision: Decision): Promise<boolean> {
    const { id, kind, tenant, responseId, reason, author } = decision;
    if (decision.amount < 0n) throw new RangeError('the amount of a decision must not be negative');
    const amount = rowAmount(decision.amount);
    return this.#db.transaction().execute(async (db) => {
      const usage = responseId === undefined ? undefined : await usageOf(db, this.#kind, tenant, responseId);
      const now = this.#now();
      const isNew = await this.#postOnce(
        db,
        {
          id: `${kind}:${id}`,
          kind,
          tenant,
          response_id: responseId ?? null,
          day: dayOf(now),
          reason,
          author,
          price_version: null,
          entries: [
            { account: OTHER_SIDE[kind], amount },
            { account: ACCOUNT.tenant(tenant), amount: amount === 0 ? 0 : -amount },
          ],
        },
        now,
        kind === 'payment' ? undefined : usage,
      );
      if (isNew && usage !== undefined && kind !== 'payment') {
        const left = await chargedFor(db, tenant, usage.response_id);
        if (left < 0n) throw new ExceedsCharge(left + decision.amount);
      }
      return isNew;
    });
  }

  /**
   * Changes what a turn cost by an entry of its own, as when it is rated anew.
   * @param correction `difference` in nano-dollars, positive when more is owed; `id` names it, once
   * @returns false when it was booked before
   */
  async correct(correction: {
    readonly id: string;
    readonly tenant: string;
    readonly responseId: string;
    readonly difference: bigint;
    readonly priceVersion: string | null;
    readonly reason: string;
    readonly author: string;
  }): Promise<boolean> {
    const { tenant, responseId, priceVersion, reason, author } = correction;
    const amount = rowAmount(correction.difference);
    return this.#db.transaction().execute(async (db) => {
      const usage = await usageOf(db, this.#kind, tenant, responseId);
      const now = this.#now();
      return this.#postOnce(
        db,
        {
          id: `correction:${correction.id}`,
          kind: 'correction',
          tenant,
          response_id: responseId,
          day: dayOf(now),
          reason,
          author,
          price_version: priceVersion,
          entries: [
            { account: ACCOUNT.tenant(tenant), amount },
            { account: ACCOUNT.revenue(usage.model), amount: amount === 0 ? 0 : -amount },
          ],
        },
        now,
        usage,
      );
    });
  }

  /** Balances of accounts whose names begin so, in the order of their names. */
  async balances(prefix = ''): Promise<readonly Balance[]> {
    const rows = await this.#db
      .selectFrom('ledger_balances')
      .select(['account', 'entries', sql<string>`cast(balance as text)`.as('balance')])
      .where(sql<string>`substr(account, 1, ${prefix.length})`, '=', prefix)
      .orderBy('account')
      .execute();
    return rows.map(({ account, entries, balance }) => ({ account, entries, balance: BigInt(balance) }));
  }

  /** Whether anything was ever booked for a tenant. */
  async hasAccount(tenant: string): Promise<boolean> {
    const query = this.#db
      .selectFrom('ledger_balances')
      .select('account')
      .where('account', '=', ACCOUNT.tenant(tenant));
    return (await query.executeTakeFirst()) !== undefined;
  }

  /** What a tenant owes, in nano-dollars. */
  async owed(tenant: string): Promise<bigint> {
    const account = ACCOUNT.tenant(tenant);
    return (await this.balances(account)).find((each) => each.account === account)?.balance ?? 0n;
  }

  /** Derives everything that is cached from the entries again, and returns what differs. */
  async verify(): Promise<readonly LedgerFault[]> {
    const { rows: unbalanced } = await sql<{ name: string; found: string }>`
      select transaction_id as name, cast(sum(amount) as text) as found from ledger_entries
      group by transaction_id having sum(amount) <> 0`.execute(this.#db);
    const { rows: balances } = await sql<{ name: string; expected: string; found: string }>`
      select e.account as name, cast(e.total as text) as expected, cast(coalesce(b.balance, 0) as text) as found
      from (select account, sum(amount) as total from ledger_entries group by account) e
      left join ledger_balances b on b.account = e.account
      where b.balance is null or b.balance <> e.total`.execute(this.#db);
    const { rows: held } = await sql<{ found: string; expected: string }>`
      select cast((select coalesce(sum(spent), 0) from ledger_spend
                   where time_window = 'total' and subject like '["tenant",%') as text) as found,
             cast((select coalesce(sum(amount), 0) from ledger_usage)
                + (select coalesce(sum(e.amount), 0) from ledger_entries e
                   join ledger_transactions t on t.id = e.transaction_id
                   where t.response_id is not null and t.kind in ('correction', 'refund', 'write_off')
                   and e.account like 'tenant:%') as text) as expected`.execute(this.#db);
    return [
      ...unbalanced.map(({ name, found }) => ({ what: 'transaction' as const, name, expected: '0', found })),
      ...balances.map((row) => ({ what: 'balance' as const, ...row })),
      ...held
        .filter(({ found, expected }) => found !== expected)
        .map((row) => ({ what: 'spend' as const, name: 'all tenants', ...row })),
    ];
  }

  /** @param usage of the turn whose budgets it changes, by what its tenant owes more or less */
  async #postOnce(
    db: Transaction<LedgerSchema>,
    transaction: NewTransaction,
    now: number,
    usage: UsageRow | undefined,
  ): Promise<boolean> {
    const known = await db
      .selectFrom('ledger_transactions')
      .select('id')
      .where('id', '=', transaction.id)
      .executeTakeFirst();
    if (known !== undefined) return false;
    // What was spent before balances, in the order in which bookings take them.
    if (usage !== undefined) {
      const owed = transaction.entries.find(({ account }) => account === ACCOUNT.tenant(transaction.tenant));
      await spend(db, [{ ...usage, at: usage.admitted_at, amount: owed?.amount ?? 0 }]);
    }
    await post(db, [transaction], now);
    return true;
  }
}

/** The usage of a response. Who changes what it comes to does so one after the other. */
async function usageOf(
  db: Transaction<LedgerSchema>,
  database: DatabaseKind,
  tenant: string,
  responseId: string,
): Promise<UsageRow> {
  const query = db
    .selectFrom('ledger_usage')
    .selectAll()
    .where('response_id', '=', responseId)
    .where('tenant', '=', tenant);
  // A transaction of SQLite is alone from its beginning.
  const row = await (database === 'postgres' ? query.forUpdate() : query).executeTakeFirst();
  if (row === undefined) throw new Error(`there is no usage of response '${responseId}'`);
  return row;
}

/** What a tenant owes for a response, in nano-dollars. */
async function chargedFor(
  db: Transaction<LedgerSchema>,
  tenant: string,
  responseId: string,
): Promise<bigint> {
  const { charged } = await db
    .selectFrom('ledger_transactions')
    .innerJoin('ledger_entries', 'transaction_id', 'id')
    .select(sql<string>`cast(coalesce(sum(amount), 0) as text)`.as('charged'))
    .where('response_id', '=', responseId)
    .where('account', '=', ACCOUNT.tenant(tenant))
    .executeTakeFirstOrThrow();
  return BigInt(charged);
}
