import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { bookDecision, Ledger } from '@turnpike/ledger';
import { KINDS, TestDatabases } from '../storage/databases.js';
import { usageRecord } from './records.js';

const REFUND = {
  id: 'ticket-7',
  kind: 'refund',
  tenant: 't',
  amount_usd: '0.000015',
  reason: 'empty answer',
};

describe.each(KINDS)('a decision on %s', (kind) => {
  let databases: TestDatabases;
  let ledger: Ledger;
  beforeAll(async () => {
    databases = await TestDatabases.start(kind);
  });
  afterAll(() => databases.stop());
  beforeEach(async () => {
    ledger = await Ledger.open(await databases.empty(), kind);
    // Twenty thousand nano-dollars.
    await ledger.book([usageRecord('r1')]);
  });

  const decide = (fields: unknown) =>
    bookDecision(ledger, fields, { author: 'ada', isTenant: (id) => Promise.resolve(id === 'new') });

  it('is booked once, however often and at once it comes', async () => {
    const answers = await Promise.all([decide(REFUND), decide(REFUND), decide(REFUND)]);
    expect(answers.filter(({ booked }) => booked)).toHaveLength(1);
    expect(await decide(REFUND)).toEqual({ ...REFUND, author: 'ada', responseId: undefined, booked: false });
    expect(await ledger.owed('t')).toBe(5_000n);
    await expect(decide({ ...REFUND, amount_usd: 1 })).rejects.toThrow("another refund 'ticket-7'");
    expect(await decide({ ...REFUND, kind: 'payment' })).toMatchObject({ booked: true });
    expect(await ledger.owed('t')).toBe(-10_000n);
    expect(await decide({ ...REFUND, kind: 'payment', tenant: 'new' }).catch(String)).toContain(
      'another payment',
    );
    expect(await decide({ ...REFUND, id: '2', kind: 'payment', tenant: 'new' })).toMatchObject({
      booked: true,
    });
    expect(await ledger.verify()).toEqual([]);
  });

  it('gives back no more of a response than it has come to, however many come at once', async () => {
    const amount_usd = '0.00002';
    const done = await Promise.allSettled(
      ['a', 'b', 'c', 'd'].map((id) => decide({ ...REFUND, id, response_id: 'r1', amount_usd })),
    );
    expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await ledger.owed('t')).toBe(0n);
    expect(await ledger.verify()).toEqual([]);
  });

  it('gives back no more of a response than it has come to', async () => {
    const of = { ...REFUND, response_id: 'r1' };
    expect(await decide(of)).toMatchObject({ booked: true, responseId: 'r1' });
    expect(await decide(of)).toMatchObject({ booked: false });
    await expect(decide({ ...of, id: '2' })).rejects.toThrow('more than the response has come to: 0.000005');
    expect(await decide({ ...of, id: '2', kind: 'write_off', amount_usd: '0.000005' })).toMatchObject({
      booked: true,
    });
    expect(await ledger.owed('t')).toBe(0n);
    expect(await ledger.verify()).toEqual([]);
  });
});

describe('a decision', () => {
  it.each([
    [{ ...REFUND, id: undefined }, 'id'],
    [{ ...REFUND, id: '../x' }, 'id'],
    [{ ...REFUND, kind: 'gift' }, 'kind'],
    [{ ...REFUND, tenant: 'ghost' }, 'tenant'],
    [{ ...REFUND, tenant: 'a\0b' }, 'tenant'],
    [{ ...REFUND, amount_usd: undefined }, 'amount_usd'],
    [{ ...REFUND, amount_usd: 0 }, 'amount_usd'],
    [{ ...REFUND, amount_usd: -1 }, 'amount_usd'],
    [{ ...REFUND, amount_usd: '1e3' }, 'amount_usd'],
    [{ ...REFUND, amount_usd: '0.0000000001' }, 'amount_usd'],
    [{ ...REFUND, amount_usd: '9000000.000000001' }, 'amount_usd'],
    [{ ...REFUND, amount_usd: '999999999999' }, 'amount_usd'],
    [{ ...REFUND, amount_usd: [1] }, 'amount_usd'],
    [{ ...REFUND, reason: ' ' }, 'reason'],
    [{ ...REFUND, reason: 'x'.repeat(501) }, 'reason'],
    [{ ...REFUND, response_id: 'r2' }, 'response_id'],
    [{ ...REFUND, kind: 'payment', response_id: 'r1' }, 'response_id'],
    [{ ...REFUND, author: 'me' }, 'author'],
    [[], null],
    ['x', null],
  ])('%j is refused', async (fields, param) => {
    const databases = await TestDatabases.start('sqlite');
    const ledger = await Ledger.open(await databases.empty(), 'sqlite');
    await ledger.book([usageRecord('r1')]);
    const asked = bookDecision(ledger, fields, { author: 'a', isTenant: () => Promise.resolve(false) });
    await expect(asked).rejects.toMatchObject({ body: { param } });
    expect(await ledger.owed('t')).toBe(20_000n);
    await databases.stop();
  });
});
