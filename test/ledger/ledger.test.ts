import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Booker, DeadLetters, Ledger, moneyStory, usageSums } from '@turnpike/ledger';
import { sql } from 'kysely';
import { KINDS, TestDatabases } from '../storage/databases.js';
import { usageRecord } from './records.js';

describe.each(KINDS)('the ledger on %s', (kind) => {
  let databases: TestDatabases;
  let ledger: Ledger;
  beforeAll(async () => {
    databases = await TestDatabases.start(kind);
  });
  afterAll(() => databases.stop());
  beforeEach(async () => {
    ledger = await Ledger.open(await databases.empty(), kind);
  });

  const run = (text: string) => sql.raw(text).execute(ledger.db);
  const owed = (tenant = 't') => ledger.owed(tenant);

  it('books a batch in one go, on both sides', async () => {
    const { booked, known } = await ledger.book([usageRecord('r1'), usageRecord('r2', { output: 0 })]);
    expect([booked.length, known]).toEqual([2, []]);
    expect(await ledger.balances()).toEqual([
      { account: 'revenue:m', balance: -30_000n, entries: 2 },
      { account: 'tenant:t', balance: 30_000n, entries: 2 },
    ]);
    expect(await ledger.verify()).toEqual([]);
  });

  it('E02: what is delivered again changes nothing, in other batches and beside what is new', async () => {
    await ledger.book([usageRecord('r1')]);
    const again = await ledger.book([usageRecord('r1'), usageRecord('r1'), usageRecord('r2')]);
    expect(again).toEqual({ booked: ['r2'], known: ['r1'] });
    // Also when somebody calls it another amount.
    await ledger.book([usageRecord('r1', { amount: 999 })]);
    expect(await owed()).toBe(40_000n);
  });

  it('E14: two generations that an engine gave one id are two rows', async () => {
    const same = { engine: 'chatcmpl-424' };
    await ledger.book([usageRecord('r1', same), usageRecord('r2', same)]);
    expect(await owed()).toBe(40_000n);
  });

  it('E14: a refund is an entry of its own; what is delivered after it changes nothing', async () => {
    await ledger.book([usageRecord('r1')]);
    const refund = { id: 'ticket-7', kind: 'refund', tenant: 't', responseId: 'r1' } as const;
    const why = { reason: 'empty answer', author: 'ada' };
    expect(await ledger.decide({ ...refund, ...why, amount: 15_000n })).toBe(true);
    expect(await ledger.decide({ ...refund, ...why, amount: 15_000n })).toBe(false);
    await ledger.book([usageRecord('r1')]);
    expect(await owed()).toBe(5_000n);
    const { transactions } = await moneyStory(ledger.db, 'r1');
    expect(transactions.map(({ id, reason, author }) => [id, reason, author])).toEqual([
      ['usage:r1', null, null],
      ['refund:ticket-7', 'empty answer', 'ada'],
    ]);
    expect(await ledger.verify()).toEqual([]);
  });

  it('a correction, a payment and a write-off have entries of their own', async () => {
    await ledger.book([usageRecord('r1')]);
    const why = { reason: 'x', author: 'ada', tenant: 't' };
    await ledger.correct({
      ...why,
      id: 'r1/new',
      responseId: 'r1',
      difference: -4_000n,
      priceVersion: 'new',
    });
    await ledger.decide({ ...why, id: '1', kind: 'payment', amount: 10_000n });
    await ledger.decide({ ...why, id: '1', kind: 'write_off', amount: 6_000n });
    expect(await owed()).toBe(0n);
    const names = (await ledger.balances()).map(({ account, balance }) => [account, balance]);
    expect(names).toEqual([
      ['cash', 10_000n],
      ['revenue:m', -16_000n],
      ['tenant:t', 0n],
      ['written_off', 6_000n],
    ]);
    expect(await ledger.verify()).toEqual([]);
  });

  it('decides nothing about a response of another tenant, or one that it does not know', async () => {
    await ledger.book([usageRecord('r1')]);
    const why = { reason: 'x', author: 'ada', id: '1', kind: 'refund', amount: 1n } as const;
    await expect(ledger.decide({ ...why, tenant: 'other', responseId: 'r1' })).rejects.toThrow('no usage');
    await expect(ledger.decide({ ...why, tenant: 't', responseId: 'r2' })).rejects.toThrow('no usage');
    await expect(ledger.decide({ ...why, tenant: 't', amount: -1n })).rejects.toThrow(RangeError);
    expect(await owed()).toBe(20_000n);
  });

  it('books all of a batch or nothing', async () => {
    const broken = { ...usageRecord('r2'), tenant: null as unknown as string };
    await expect(ledger.book([usageRecord('r1'), broken])).rejects.toThrow();
    expect(await ledger.balances()).toEqual([]);
  });

  it('many that book the same at once book it once', async () => {
    const batch = Array.from({ length: 20 }, (_, index) => usageRecord(`r${index}`));
    const done = await Promise.allSettled(
      Array.from({ length: 8 }, (_, worker) => ledger.book(batch.slice(worker, worker + 13))),
    );
    expect(done.filter(({ status }) => status === 'rejected')).toEqual([]);
    expect(await owed()).toBe(400_000n);
    expect(await ledger.verify()).toEqual([]);
  });

  describe('the database itself', () => {
    it.each([
      ['entries that do not add up', ["('x', 0, 'a', 5)", "('x', 1, 'b', -4)"], 'add up to zero'],
      ['a single entry', ["('x', 0, 'a', 0)"], 'add up to zero'],
    ])('refuses %s', async (_what, values, message) => {
      await expect(
        ledger.db.transaction().execute(async (db) => {
          await sql.raw(`insert into ledger_entries values ${values.join(', ')}`).execute(db);
          await sql
            .raw(
              `insert into ledger_transactions values ('x', 'usage', 't', null, '2026-01-01', 0, null, null, null)`,
            )
            .execute(db);
        }),
      ).rejects.toThrow(message);
    });

    it('refuses entries without a transaction when they are committed', async () => {
      await expect(
        ledger.db.transaction().execute(async (db) => {
          await sql.raw(`insert into ledger_entries values ('x', 0, 'a', 5), ('x', 1, 'b', -5)`).execute(db);
        }),
      ).rejects.toThrow(/foreign key/i);
    });

    it('refuses to add to, to change and to delete what is booked', async () => {
      await ledger.book([usageRecord('r1')]);
      await expect(run(`insert into ledger_entries values ('usage:r1', 7, 'a', 0)`)).rejects.toThrow(
        'booked',
      );
      for (const table of ['ledger_entries', 'ledger_transactions', 'ledger_usage']) {
        await expect(run(`delete from ${table}`)).rejects.toThrow('cannot be changed');
      }
      await expect(run(`update ledger_entries set amount = 0`)).rejects.toThrow('cannot be changed');
    });
  });

  it('finds balances that are not what the entries say', async () => {
    await ledger.book([usageRecord('r1')]);
    await run(`update ledger_balances set balance = balance + 1 where account = 'tenant:t'`);
    await run(`update ledger_spend set spent = spent + 1 where time_window = 'total'`);
    expect(await ledger.verify()).toEqual([
      { what: 'balance', name: 'tenant:t', expected: '20000', found: '20001' },
      { what: 'spend', name: 'all tenants', expected: '20000', found: '20001' },
    ]);
  });

  it('adds usage up by what is asked for', async () => {
    await ledger.book([
      usageRecord('r1', { input: 1, output: 2 }),
      usageRecord('r2', { input: 3, output: 4, key: 'k2', partial: true }),
      usageRecord('r3', { input: 5, output: 6, tenant: 'u', admittedAt: Date.parse('2026-04-01') }),
      usageRecord('r4', { model: 'none', rule: 'unpriced' }),
    ]);
    const byKey = await usageSums(ledger.db, ['tenant', 'key'], { model: 'm' });
    expect(byKey.map(({ group, output, amount }) => [group.tenant, group.key, output, amount])).toEqual([
      ['t', 'k', 2, 5_000n],
      ['t', 'k2', 4, 11_000n],
      ['u', 'k', 6, 17_000n],
    ]);
    const [march] = await usageSums(ledger.db, ['day'], { tenant: 't', to: '2026-03-31' });
    expect(march).toMatchObject({ group: { day: '2026-03-31' }, turns: 3, partial: 1, unpriced: 1 });
    expect((await usageSums(ledger.db, [], { tenant: 'nobody' }))[0]).toMatchObject({ turns: 0, amount: 0n });
  });

  describe('dead letters', () => {
    const why = { author: 'ada', reason: 'the model was renamed' };

    it('are kept once with their reason, and booked when they can be', async () => {
      const letters = new DeadLetters(ledger);
      for (let times = 0; times < 2; times++) {
        await letters.add({ job: 'usage-j-1', payload: usageRecord('r1'), reason: 'why not' });
      }
      const [letter, ...others] = await letters.list('open');
      expect(others).toEqual([]);
      expect(letter).toMatchObject({ response_id: 'r1', tenant: 't', reason: 'why not', state: 'open' });
      expect(await letters.retry(letter?.id ?? '', why)).toBe(true);
      expect(await letters.retry(letter?.id ?? '', why)).toBe(false);
      expect(await owed()).toBe(20_000n);
      const [story] = (await moneyStory(ledger.db, 'r1')).deadLetters;
      expect(story).toMatchObject({ state: 'booked', resolution: why.reason, author: 'ada' });
    });

    it('stay open when they still cannot be booked, and are written off by an entry', async () => {
      const letters = new DeadLetters(ledger);
      const payload = { ...usageRecord('r1'), model: '' };
      await letters.add({ job: 'usage-j-1', payload, reason: 'model: too short' });
      const [{ id } = { id: '' }] = await letters.list('open');
      await expect(letters.retry(id, why)).rejects.toThrow('model');
      expect(await letters.list('open')).toHaveLength(1);
      expect(await letters.writeOff(id, why)).toBe(true);
      expect(await letters.writeOff(id, why)).toBe(false);
      expect(await owed()).toBe(0n);
      expect(await ledger.balances('written_off')).toEqual([
        { account: 'written_off', balance: 20_000n, entries: 1 },
      ]);
      const { transactions } = await moneyStory(ledger.db, 'r1');
      expect(transactions).toMatchObject([{ kind: 'write_off', reason: why.reason, author: 'ada' }]);
      expect(await ledger.verify()).toEqual([]);
    });

    it('of what no database takes hold up nothing else', async () => {
      const letters = new DeadLetters(ledger);
      const booker = new Booker(ledger, letters);
      // A transaction that is there without its usage, and text that Postgres does not hold.
      const rows = [
        `ledger_entries values ('usage:r2', 0, 'a', 1), ('usage:r2', 1, 'b', -1)`,
        `ledger_transactions values ('usage:r2', 'usage', 't', 'r2', '2026-03-01', 0, null, null, null)`,
      ];
      await ledger.db.transaction().execute(async (db) => {
        for (const row of rows) await sql.raw(`insert into ${row}`).execute(db);
      });
      const nul = { ...usageRecord('r3'), tenant: 'a\0b', amount: -1 };
      const most = { amount: Number.MAX_SAFE_INTEGER };
      const batch = [
        usageRecord('r1'),
        usageRecord('r2'),
        nul,
        usageRecord('r4', most),
        usageRecord('r5', most),
      ];
      expect(await booker.book(batch, 'j')).toBe(2);
      expect((await letters.list('open')).map(({ response_id }) => response_id).toSorted()).toEqual([
        'r2',
        'r3',
      ]);
      expect(await owed()).toBe(20_000n + 2n * BigInt(Number.MAX_SAFE_INTEGER));
    });

    it('may be anything', async () => {
      const letters = new DeadLetters(ledger);
      for (const payload of [null, 'text', [1], undefined, { id: '\0', tenant: '\0' }]) {
        await letters.add({ job: 'j', payload, reason: 'not a record' });
      }
      for (const { id } of await letters.list('open')) expect(await letters.writeOff(id, why)).toBe(true);
      expect(await ledger.balances('written_off')).toMatchObject([{ balance: 0n }]);
    });
  });
});
