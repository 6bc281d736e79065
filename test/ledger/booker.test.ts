import { describe, expect, it } from '@jest/globals';
import { Booker, type DeadLetters, type Ledger } from '@turnpike/ledger';
import type { UsageRecord } from '@turnpike/metering';
import { usageRecord } from './records.js';

const coded = (code: string | undefined, message = 'no') => Object.assign(new Error(message), { code });

/** Books three records, of which the database answers the second, and every batch with it, so. */
async function bookWith(answer: Error) {
  const booked: string[] = [];
  const buried: unknown[] = [];
  const ledger = {
    book(records: readonly UsageRecord[]) {
      if (records.some(({ id }) => id === 'odd')) return Promise.reject(answer);
      booked.push(...records.map(({ id }) => id));
      return Promise.resolve({ booked: [], known: [] });
    },
  } as unknown as Ledger;
  const deadLetters = {
    add: ({ payload }: { payload: UsageRecord }) => Promise.resolve(void buried.push(payload.id)),
  } as unknown as DeadLetters;
  const records = ['a', 'odd', 'b'].map((id) => usageRecord(id));
  const thrown = await new Booker(ledger, deadLetters).book(records, 'job').then(
    () => undefined,
    (error: unknown) => error,
  );
  return { thrown, booked, buried };
}

describe('a batch that the database does not take', () => {
  it.each([
    ['a deadlock', coded('40P01')],
    ['a transaction that was not serial', coded('40001')],
    ['a statement that took too long', coded('57014')],
    ['a server that stops', coded('57P01')],
    ['too many connections', coded('53300')],
    ['a full disk', coded('53100')],
    ['a replica', coded('25006')],
    ['a lock that was not free', coded('55P03')],
    ['a connection that is gone', coded('ECONNRESET')],
    ['a connection without a word', coded(undefined, 'Connection terminated unexpectedly')],
    ['SQLite: others write', coded('SQLITE_BUSY')],
    ['SQLite: a full disk', coded('SQLITE_FULL')],
    ['SQLite: a disk that fails', coded('SQLITE_IOERR_FSYNC')],
    ['SQLite: a file that cannot be written', coded('SQLITE_READONLY')],
  ])('comes again as a whole: %s', async (_what, answer) => {
    expect(await bookWith(answer)).toEqual({ thrown: answer, booked: [], buried: [] });
  });

  it.each([
    ['text that it cannot hold', coded('22021')],
    ['a number out of range', coded('22003')],
    ['a rule that is broken', coded('23514')],
    ['SQLite: a rule that is broken', coded('SQLITE_CONSTRAINT_NOTNULL')],
    ['an amount that is none', new RangeError('out of range')],
  ])('is booked but for what is never taken: %s', async (_what, answer) => {
    const { thrown, booked, buried } = await bookWith(answer);
    expect([thrown, booked.sort(), buried]).toEqual([undefined, ['a', 'b'], ['odd']]);
  });
});
