import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Ledger, SqlHolds } from '@turnpike/ledger';
import type { Budget, HoldRequest } from '@turnpike/metering';
import { KINDS, TestDatabases } from '../storage/databases.js';
import { usageRecord } from './records.js';

const AT = usageRecord('x').admittedAt;

describe.each(KINDS)('holds on %s', (kind) => {
  let databases: TestDatabases;
  let ledger: Ledger;
  let shadows: string[];
  beforeAll(async () => {
    databases = await TestDatabases.start(kind);
  });
  afterAll(() => databases.stop());
  beforeEach(async () => {
    ledger = await Ledger.open(await databases.empty(), kind);
    shadows = [];
  });

  const holds = (leaseMs = 60_000) =>
    new SqlHolds(ledger.db, { kind, leaseMs, onShadow: ({ name }, { id }) => shadows.push(`${name} ${id}`) });
  const budget = (limit: number, given: Partial<Budget> = {}): Budget => ({
    name: 'b',
    subject: { scope: 'tenant', tenant: 't' },
    period: 'day',
    limit,
    shadow: false,
    ...given,
  });
  const request = (id: string, amount: number, given: Partial<HoldRequest> = {}): HoldRequest => ({
    id,
    tenant: 't',
    key: 'k',
    model: 'm',
    at: AT,
    amount,
    ...given,
  });
  const held = async () =>
    (await ledger.db.selectFrom('ledger_spend').select(['time_window', 'spent', 'held']).execute())
      .filter((row) => row.held !== 0)
      .map((row) => [row.time_window, row.held]);

  it('E12: of 20 that want 0.60 of 1.00 at once, one gets it', async () => {
    const limit = budget(1_000_000_000);
    const asked = holds();
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, n) => asked.reserve(request(`r${n}`, 600_000_000), [limit])),
    );
    expect(results.filter(({ kind }) => kind === 'held')).toHaveLength(1);
    expect(await held()).toEqual([['day:2026-03-31', 600_000_000]]);
  });

  it('are taken out of every budget or out of none', async () => {
    const wide = budget(100, { name: 'wide', period: 'month' });
    const tight = budget(10, { name: 'tight', subject: { scope: 'key', tenant: 't', key: 'k' } });
    const asked = holds();
    expect(await asked.reserve(request('a', 8), [wide, tight])).toEqual({ kind: 'held' });
    expect(await asked.reserve(request('b', 8), [wide, tight])).toMatchObject({
      kind: 'refused',
      budget: { name: 'tight' },
    });
    expect((await held()).map(([, amount]) => amount)).toEqual([8, 8]);
    // Another key of the tenant has its own.
    const other = { ...tight, subject: { scope: 'key', tenant: 't', key: 'k2' } as const };
    expect(await asked.reserve(request('c', 8, { key: 'k2' }), [wide, other])).toEqual({ kind: 'held' });
  });

  it('the strictest of several budgets for the same decides', async () => {
    const budgets = [budget(50, { name: 'x' }), budget(5, { name: 'y' }), budget(20, { name: 'z' })];
    expect(await holds().reserve(request('a', 6), budgets)).toMatchObject({ budget: { name: 'y' } });
  });

  it('in shadow mode only report, and are counted all the same', async () => {
    const shadow = budget(10, { name: 'shadow', shadow: true });
    const asked = holds();
    await asked.reserve(request('a', 8), [shadow]);
    expect(await asked.reserve(request('b', 8), [shadow])).toEqual({ kind: 'held' });
    expect(shadows).toEqual(['shadow b']);
    expect(await held()).toEqual([['day:2026-03-31', 16]]);
  });

  it('are replaced by the bill, and that by its booking', async () => {
    const asked = holds();
    await asked.reserve(request('r1', 50_000), [budget(60_000)]);
    await asked.settle('r1', 20_000);
    await asked.settle('r1', 1);
    expect(await held()).toEqual([['day:2026-03-31', 20_000]]);
    await ledger.book([usageRecord('r1')]);
    expect(await held()).toEqual([]);
    // Spent is 20,000: another 40,000 fit, and not one more.
    expect(await asked.reserve(request('r2', 40_001), [budget(60_000)])).toMatchObject({ kind: 'refused' });
    expect(await asked.reserve(request('r3', 40_000), [budget(60_000)])).toMatchObject({ kind: 'held' });
    expect(await ledger.verify()).toEqual([]);
  });

  it.each(['settle', 'release', 'expire', 'book'] as const)('end once, with %s first', async (first) => {
    const asked = holds(first === 'expire' ? -1 : 60_000);
    await asked.reserve(request('r1', 50_000), [budget(60_000)]);
    const ends = {
      settle: () => asked.settle('r1', 20_000),
      release: () => asked.release('r1'),
      expire: async () => void (await asked.sweep()),
      book: async () => void (await ledger.book([usageRecord('r1')])),
    };
    await ends[first]();
    for (const end of [ends.settle, ends.release, ends.expire, ends.book]) await end();
    expect(await held()).toEqual([]);
    const [row] = await ledger.db.selectFrom('ledger_holds').select('state').execute();
    expect(row?.state).toBe(
      { settle: 'booked', release: 'released', expire: 'expired', book: 'booked' }[first],
    );
    expect(await ledger.owed('t')).toBe(20_000n);
  });

  it('E12: of a process that died expire, but what it has settled stays', async () => {
    const asked = holds(-1);
    for (let n = 0; n < 10; n++) await asked.reserve(request(`r${n}`, 100), [budget(1_000)]);
    await asked.settle('r0', 30);
    expect((await asked.sweep()).length).toBe(9);
    expect(await held()).toEqual([['day:2026-03-31', 30]]);
    expect(await asked.sweep()).toEqual([]);
  });

  it('that are renewed do not expire', async () => {
    const asked = holds(-1);
    await asked.reserve(request('r1', 100), [budget(1_000)]);
    await holds(60_000).renew(['r1', 'unknown']);
    expect(await asked.sweep()).toEqual([]);
  });

  it('grow while there is room, and begin again when they have expired', async () => {
    const asked = holds();
    const budgets = [budget(100)];
    await asked.reserve(request('r1', 60), budgets);
    expect(await asked.extend(request('r1', 30), budgets)).toEqual({ kind: 'held' });
    expect(await asked.extend(request('r1', 30), budgets)).toMatchObject({ kind: 'refused' });
    await asked.settle('r1', 90);
    await expect(asked.extend(request('r1', 1), budgets)).rejects.toThrow('nothing is held');
    const late = holds(-1);
    await late.reserve(request('r2', 5), budgets);
    await late.sweep();
    expect(await late.extend(request('r2', 7), budgets)).toEqual({ kind: 'held' });
    expect(await held()).toEqual([['day:2026-03-31', 97]]);
  });

  it('count in the windows of their time', async () => {
    const asked = holds();
    const day = budget(10);
    await asked.reserve(request('a', 10), [day]);
    expect(await asked.reserve(request('b', 10, { at: AT + 86_400_000 }), [day])).toEqual({ kind: 'held' });
    const month = budget(15, { period: 'month' });
    await asked.reserve(request('c', 15), [month]);
    expect(await asked.reserve(request('d', 1), [month])).toMatchObject({ kind: 'refused' });
    expect(await asked.reserve(request('e', 1, { at: AT + 86_400_000 }), [month])).toEqual({ kind: 'held' });
  });

  it('a budget that is made later knows what was spent before, and a refund gives it back', async () => {
    await ledger.book([usageRecord('r1')]);
    const total = budget(25_000, { period: 'total', subject: { scope: 'model', tenant: 't', model: 'm' } });
    const asked = holds();
    expect(await asked.reserve(request('r2', 10_000), [total])).toMatchObject({ kind: 'refused' });
    const refund = { id: '1', kind: 'refund', tenant: 't', responseId: 'r1' } as const;
    await ledger.decide({ ...refund, amount: 20_000n, reason: 'x', author: 'ada' });
    expect(await asked.reserve(request('r3', 10_000), [total])).toEqual({ kind: 'held' });
  });

  it('and bookings never wait for each other both ways', async () => {
    const ofTenant = budget(1e12, { period: 'month' });
    const ofKey = budget(1e12, { subject: { scope: 'key', tenant: 't', key: 'k' } });
    const asked = holds();
    const ids = Array.from({ length: 40 }, (_, n) => `r${n}`);
    // Held before the key had a budget.
    for (const id of ids) await asked.reserve(request(id, 50_000), [ofTenant]);
    const failed: string[] = [];
    const each = async (task: (id: string) => Promise<unknown>) => {
      for (const id of ids) await task(id).catch((thrown: unknown) => failed.push(String(thrown)));
    };
    await Promise.all([
      each((id) => asked.settle(id, 20_000)),
      each(async (id) => {
        await ledger.book([usageRecord(id)]);
        const why = { reason: 'x', author: 'ada', tenant: 't', responseId: id, amount: 1n };
        await ledger.decide({ ...why, id, kind: 'refund' });
      }),
      each((id) => ledger.book([usageRecord(`other-${id}`)])),
      each((id) => asked.reserve(request(`later-${id}`, 1), [ofTenant, ofKey])),
      each((id) => asked.reserve(request(`last-${id}`, 1), [ofTenant, ofKey])),
    ]);
    expect(failed).toEqual([]);
    expect(await ledger.verify()).toEqual([]);
  });
});
