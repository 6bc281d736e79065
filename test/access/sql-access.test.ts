import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { KeyRing, SqlAccess, type Caller } from '@turnpike/access';
import { sql, type Kysely } from 'kysely';
import type { StoreSchema } from '@turnpike/storage';
import { KINDS, TestDatabases } from '../storage/databases.js';

const NEW_KEY = { name: 'laptop', scopes: ['inference'] as const, models: null, expiresAt: null };
const PAGE = { limit: 2, order: 'asc' } as const;
const caller = (secret: string): Caller => ({ headers: { authorization: `Bearer ${secret}` } });

describe.each(KINDS)('keys in %s', (kind) => {
  let databases: TestDatabases;
  let db: Kysely<StoreSchema>;
  let access: SqlAccess;
  let now = 1_000_000_000_000;
  beforeAll(async () => {
    databases = await TestDatabases.start(kind);
    db = await databases.connect();
    access = await SqlAccess.open(db, kind, () => now);
    await access.createTenant({ id: 'a', name: 'Team A' });
    await access.createTenant({ id: 'b', name: 'b' });
  });
  afterAll(() => databases.stop());

  /** A ring as another gateway has one, which asks whenever an unknown key turns up. */
  const ringOf = async () => {
    const ring = new KeyRing([], {
      source: access,
      now: () => now,
      times: { everyMs: 3_600_000, leastMs: 0 },
    });
    await ring.start();
    return ring;
  };

  it('lets in who holds one, from the moment it was made until it is revoked', async () => {
    const ring = await ringOf();
    expect(ring.open).toBe(true);
    await access.createKey({ ...NEW_KEY, tenant: 'a' });
    await ring.refresh();
    expect(ring.open).toBe(false);
    const { key, secret } = await access.createKey({ ...NEW_KEY, tenant: 'a', models: ['m'] });
    const principal = await ring.authenticate(caller(secret));
    expect(principal).toEqual({ tenant: 'a', key: key.id, scopes: ['inference'], models: ['m'] });
    await access.changeKey(key.id, { models: null, scopes: ['inference', 'billing'] });
    await ring.refresh();
    expect(ring.current(principal)).toEqual({
      tenant: 'a',
      key: key.id,
      scopes: ['inference', 'billing'],
      models: undefined,
    });
    await access.revokeKey(key.id);
    await ring.refresh();
    expect(() => ring.current(principal)).toThrow('Incorrect or missing API key.');
    await expect(ring.authenticate(caller(secret))).rejects.toMatchObject({ code: 'invalid_api_key' });
    expect(await access.changeKey(key.id, { expiresAt: null })).toBeUndefined();
    expect(await access.rotateKey(key.id, 0)).toBeUndefined();
    expect(ring.open).toBe(false);
  });

  it('keeps no key, but what it is recognised by', async () => {
    const { key, secret } = await access.createKey({ ...NEW_KEY, tenant: 'a' });
    const { rows } = await sql`select * from api_keys where id = ${key.id}`.execute(db);
    expect(JSON.stringify(rows)).not.toContain(secret);
    expect(secret.startsWith(key.prefix)).toBe(true);
    expect(secret.length - key.prefix.length).toBeGreaterThan(30);
  });

  it('expires', async () => {
    const ring = await ringOf();
    const { secret } = await access.createKey({ ...NEW_KEY, tenant: 'a', expiresAt: now + 10 });
    const principal = await ring.authenticate(caller(secret));
    now += 10;
    await expect(ring.authenticate(caller(secret))).rejects.toMatchObject({ code: 'invalid_api_key' });
    expect(() => ring.current(principal)).toThrow();
  });

  it('is rotated: the one before is good for a while, and the one before that no more', async () => {
    const ring = await ringOf();
    const { key, secret: first } = await access.createKey({ ...NEW_KEY, tenant: 'a' });
    const opened = await ring.authenticate(caller(first));
    const second = (await access.rotateKey(key.id, 1_000))?.secret ?? '';
    expect(await ring.authenticate(caller(second))).toMatchObject({ key: key.id });
    expect(ring.current(opened)).toMatchObject({ key: key.id });
    now += 1_000;
    expect(() => ring.current(opened)).toThrow();
    expect(await ring.authenticate(caller(second))).toMatchObject({ key: key.id });
    await access.rotateKey(key.id, 1_000);
    await access.rotateKey(key.id, 1_000);
    await ring.refresh();
    await expect(ring.authenticate(caller(second))).rejects.toMatchObject({ status: 401 });
  });

  it('says when it was last used, to the minute', async () => {
    const ring = await ringOf();
    const { key, secret } = await access.createKey({ ...NEW_KEY, tenant: 'a' });
    await ring.authenticate(caller(secret));
    const used = now;
    now += 60_000;
    await ring.refresh();
    expect(await access.key(key.id)).toMatchObject({ lastUsedAt: used });
  });

  it('finds budgets by tenant, key and model, and forgets those that are deleted', async () => {
    const ring = await ringOf();
    const rest = { key: undefined, model: undefined, period: 'day', shadow: false } as const;
    const made = [
      await access.createBudget({ ...rest, tenant: 'b', amount: 1 }),
      await access.createBudget({ ...rest, tenant: 'b', key: 'k', amount: 2 }),
      await access.createBudget({ ...rest, tenant: 'b', model: 'm', amount: 3, shadow: true }),
    ];
    await ring.refresh();
    expect(ring.budgetsOf({ tenant: 'b', key: 'k', model: 'm' })).toEqual(made);
    expect(ring.budgetsOf({ tenant: 'b', key: 'x', model: 'x' })).toEqual([made[0]]);
    expect(ring.budgetsOf({ tenant: 'a', key: 'k', model: 'm' })).toEqual([]);
    expect(await access.deleteBudget(made[0]?.id ?? '')).toBe(true);
    expect(await access.deleteBudget(made[0]?.id ?? '')).toBe(false);
    await ring.refresh();
    expect(ring.budgetsOf({ tenant: 'b', key: 'x', model: 'x' })).toEqual([]);
  });

  it('lists by pages that miss and repeat nothing, in both orders, of one tenant or all', async () => {
    await access.createTenant({ id: 'pages', name: 'p' });
    const made: string[] = [];
    // Several of one moment, whose order is that of their ids.
    for (let index = 0; index < 5; index++) {
      if (index % 2 === 0) now++;
      made.push((await access.createKey({ ...NEW_KEY, tenant: 'pages', name: `${index}` })).key.id);
    }
    for (const order of ['asc', 'desc'] as const) {
      const seen: string[] = [];
      for (let hasMore = true; hasMore;) {
        const page = await access.keys({ ...PAGE, order, tenant: 'pages', after: seen.at(-1) });
        seen.push(...(page?.entries ?? []).map(({ id }) => id));
        hasMore = page?.hasMore ?? false;
      }
      expect([...seen].sort()).toEqual([...made].sort());
      expect(seen).toHaveLength(5);
    }
    expect(await access.keys({ ...PAGE, tenant: 'a', after: made[0] })).toBeUndefined();
    expect(await access.tenants({ ...PAGE, after: 'nobody' })).toBeUndefined();
    expect((await access.tenants({ ...PAGE, after: undefined }))?.entries).toHaveLength(2);
  });

  it('numbers changes in the order in which they become visible', async () => {
    const before = (await access.changesSince(0)).revision;
    await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        access.createKey({ ...NEW_KEY, tenant: 'a', name: `${index}` }),
      ),
    );
    const { revision, keys } = await access.changesSince(before);
    expect(revision).toBe(before + 8);
    expect(keys).toHaveLength(8);
    expect(await access.changesSince(revision)).toEqual({ revision, keys: [], budgets: [] });
  });
});
