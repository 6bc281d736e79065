import { ApiError } from '@turnpike/protocol';
import { migrate, type DatabaseKind, type StoreSchema } from '@turnpike/storage';
import type { Kysely, Transaction } from 'kysely';
import { randomBytes } from 'node:crypto';
import type { AccessChanges, KeySource } from './key-ring.js';
import { ACCESS_HISTORY } from './migrations.js';
import { pageOf, type Listed, type PageOptions } from './paging.js';
import type { Scope } from './principal.js';
import { budgetOf, keyOf, shownBudget, shownKey, tenantOf } from './records.js';
import type { ApiKey, Budget, Tenant } from './records.js';
import type { AccessSchema, ApiKeyRow } from './schema.js';
import { hashSecret, mintSecret, shownPrefix } from './secret.js';

/** Of what has one here; anything else is the id of nothing. */
const ID = /^\w+$/;

export interface NewKey {
  readonly tenant: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Null for all. */
  readonly models: readonly string[] | null;
  /** In ms; null for never. */
  readonly expiresAt: number | null;
}

/** What can be changed of a key; what is left out stays. */
export type KeyChange = Partial<Omit<NewKey, 'tenant'>>;
export type NewBudget = Omit<Budget, 'id' | 'createdAt'>;

/** A key, together with what it is: the only time that this is known. */
export interface KeyWithSecret {
  readonly key: ApiKey;
  readonly secret: string;
}

/**
 * Tenants, keys and budgets in the database of the store. A change takes the next number of a counter in its own transaction,
 * so that changes become visible in the order of their numbers, and whoever knows a number can ask for what came after.
 */
export class SqlAccess implements KeySource {
  readonly #db: Kysely<AccessSchema>;
  readonly #now: () => number;

  private constructor(db: Kysely<AccessSchema>, now: () => number) {
    this.#db = db;
    this.#now = now;
  }

  /**
   * @param db of the store; the tables of this are brought up to date
   * @param now a clock in ms
   * @throws Error when they belong to a newer version
   */
  static async open(
    db: Kysely<StoreSchema>,
    kind: DatabaseKind,
    now: () => number = Date.now,
  ): Promise<SqlAccess> {
    await migrate(db, kind, ACCESS_HISTORY);
    return new SqlAccess(db, now);
  }

  async changesSince(known: number): Promise<AccessChanges> {
    // The number first: what is committed meanwhile is read now or again, and never left out.
    const { revision } = await this.#db
      .selectFrom('access_revision')
      .select('revision')
      .executeTakeFirstOrThrow();
    if (revision === known) return { revision, keys: [], budgets: [] };
    const keys = await this.#db.selectFrom('api_keys').selectAll().where('revision', '>', known).execute();
    const budgets = await this.#db.selectFrom('budgets').selectAll().where('revision', '>', known).execute();
    return { revision, keys: keys.map(keyOf), budgets: budgets.map(budgetOf) };
  }

  async touch(used: ReadonlyMap<string, number>): Promise<void> {
    for (const [id, at] of used) {
      await this.#db
        .updateTable('api_keys')
        .set({ last_used_at: at })
        .where('id', '=', id)
        .where((where) => where.or([where('last_used_at', 'is', null), where('last_used_at', '<', at)]))
        .execute();
    }
  }

  /** @throws ApiError invalid_value for an id that is taken */
  async createTenant({ id, name }: Pick<Tenant, 'id' | 'name'>): Promise<Tenant> {
    const row = { id, name, created_at: this.#now() };
    const { numInsertedOrUpdatedRows } = await this.#db
      .insertInto('tenants')
      .values(row)
      .onConflict((conflict) => conflict.column('id').doNothing())
      .executeTakeFirstOrThrow();
    if (numInsertedOrUpdatedRows === 0n) {
      throw new ApiError('invalid_value', { param: 'id', message: `There is a tenant '${id}' already.` });
    }
    return tenantOf(row);
  }

  async tenant(id: string): Promise<Tenant | undefined> {
    const row = await this.#db.selectFrom('tenants').selectAll().where('id', '=', id).executeTakeFirst();
    return row && tenantOf(row);
  }

  /** Lists come back undefined when `after` names none of their entries. */
  tenants(page: PageOptions): Promise<Listed<Tenant> | undefined> {
    return pageOf(this.#db, 'tenants', page, tenantOf);
  }

  /** @throws ApiError invalid_value for a tenant that there is not */
  async createKey({ tenant, name, scopes, models, expiresAt }: NewKey): Promise<KeyWithSecret> {
    if ((await this.tenant(tenant)) === undefined) {
      throw new ApiError('invalid_value', { param: 'tenant', message: `There is no tenant '${tenant}'.` });
    }
    const secret = mintSecret();
    const row = await this.#change((db, revision) =>
      db
        .insertInto('api_keys')
        .values({
          id: newId('key'),
          tenant,
          name,
          prefix: shownPrefix(secret),
          hash: hashSecret(secret),
          previous_hash: null,
          previous_until: null,
          scopes: JSON.stringify(scopes),
          models: models && JSON.stringify(models),
          created_at: this.#now(),
          expires_at: expiresAt,
          revoked_at: null,
          rotated_at: null,
          last_used_at: null,
          revision,
        })
        .returningAll()
        .executeTakeFirstOrThrow(),
    );
    return { key: shownKey(keyOf(row)), secret };
  }

  async key(id: string): Promise<ApiKey | undefined> {
    if (!ID.test(id)) return undefined;
    const row = await this.#db.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirst();
    return row && shownKey(keyOf(row));
  }

  keys(page: PageOptions): Promise<Listed<ApiKey> | undefined> {
    return pageOf(this.#db, 'api_keys', page, (row) => shownKey(keyOf(row)));
  }

  /** @returns the key as it is then; undefined when there is none that is not revoked */
  changeKey(id: string, { name, scopes, models, expiresAt }: KeyChange): Promise<ApiKey | undefined> {
    return this.#update(id, {
      ...(name === undefined ? {} : { name }),
      ...(scopes === undefined ? {} : { scopes: JSON.stringify(scopes) }),
      ...(models === undefined ? {} : { models: models && JSON.stringify(models) }),
      ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
    });
  }

  /**
   * Gives a key a new secret; the one before is good for a while yet, and the one before that at once no more.
   * @returns undefined when there is no such key that is not revoked
   */
  async rotateKey(id: string, graceMs: number): Promise<KeyWithSecret | undefined> {
    const secret = mintSecret();
    const now = this.#now();
    const row = await this.#change(async (db, revision) => {
      const before = await db.selectFrom('api_keys').select('hash').where('id', '=', id).executeTakeFirst();
      return db
        .updateTable('api_keys')
        .set({
          hash: hashSecret(secret),
          prefix: shownPrefix(secret),
          previous_hash: before?.hash ?? null,
          previous_until: now + graceMs,
          rotated_at: now,
          revision,
        })
        .where('id', '=', id)
        .where('revoked_at', 'is', null)
        .returningAll()
        .executeTakeFirst();
    });
    return row && { key: shownKey(keyOf(row)), secret };
  }

  /** @returns undefined when there is no such key that is not revoked */
  revokeKey(id: string): Promise<ApiKey | undefined> {
    return this.#update(id, { revoked_at: this.#now() });
  }

  async createBudget({ tenant, key, model, amount, period, shadow }: NewBudget): Promise<Budget> {
    const row = await this.#change((db, revision) =>
      db
        .insertInto('budgets')
        .values({
          id: newId('bud'),
          tenant,
          key: key ?? null,
          model: model ?? null,
          amount,
          period,
          shadow: shadow ? 1 : 0,
          created_at: this.#now(),
          deleted_at: null,
          revision,
        })
        .returningAll()
        .executeTakeFirstOrThrow(),
    );
    return shownBudget(budgetOf(row));
  }

  async budget(id: string): Promise<Budget | undefined> {
    if (!ID.test(id)) return undefined;
    const row = await this.#db
      .selectFrom('budgets')
      .selectAll()
      .where('id', '=', id)
      .where('deleted_at', 'is', null)
      .executeTakeFirst();
    return row && shownBudget(budgetOf(row));
  }

  budgets(page: PageOptions): Promise<Listed<Budget> | undefined> {
    return pageOf(this.#db, 'budgets', page, (row) => shownBudget(budgetOf(row)));
  }

  /** @returns false when there is none */
  async deleteBudget(id: string): Promise<boolean> {
    const row = await this.#change((db, revision) =>
      db
        .updateTable('budgets')
        .set({ deleted_at: this.#now(), revision })
        .where('id', '=', id)
        .where('deleted_at', 'is', null)
        .returning('id')
        .executeTakeFirst(),
    );
    return row !== undefined;
  }

  async #update(id: string, values: Partial<ApiKeyRow>): Promise<ApiKey | undefined> {
    const row = await this.#change((db, revision) =>
      db
        .updateTable('api_keys')
        .set({ ...values, revision })
        .where('id', '=', id)
        .where('revoked_at', 'is', null)
        .returningAll()
        .executeTakeFirst(),
    );
    return row && shownKey(keyOf(row));
  }

  /** One after the other, over all processes: the counter's row is locked until the transaction ends. */
  #change<Result>(
    change: (db: Transaction<AccessSchema>, revision: number) => Promise<Result>,
  ): Promise<Result> {
    return this.#db.transaction().execute(async (db) => {
      const { revision } = await db
        .updateTable('access_revision')
        .set((row) => ({ revision: row('revision', '+', 1) }))
        .returning('revision')
        .executeTakeFirstOrThrow();
      return change(db, revision);
    });
  }
}

function newId(prefix: string): string {
  return `${prefix}_${randomBytes(12).toString('hex')}`;
}
