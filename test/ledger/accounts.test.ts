import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  compareStatement,
  DeadLetters,
  invoiceCsv,
  invoiceFor,
  Ledger,
  parseStatement,
  reconcile,
  rerate,
} from '@turnpike/ledger';
import { PriceBook } from '@turnpike/metering';
import { KINDS, TestDatabases } from '../storage/databases.js';
import { usageRecord } from './records.js';

const DAYS = { from: '2026-03-01', to: '2026-03-31' };

describe.each(KINDS)('accounts on %s', (kind) => {
  let databases: TestDatabases;
  let ledger: Ledger;
  beforeAll(async () => {
    databases = await TestDatabases.start(kind);
  });
  afterAll(() => databases.stop());
  beforeEach(async () => {
    ledger = await Ledger.open(await databases.connect(), kind);
  });

  /** A response as the store has it. */
  const store = (id: string, status: string, input: number, output: number) =>
    ledger.db
      .insertInto('responses')
      .values({
        id,
        tenant: 't',
        parent_id: null,
        depth: 0,
        created_at: 0,
        expires_at: 9e15,
        own_bytes: 0,
        body: JSON.stringify({ status, usage: { input_tokens: input, output_tokens: output } }),
      })
      .execute();

  it('an invoice has a line for each key, model and price version, and what was decided', async () => {
    const other = usageRecord('r4', { tenant: 'u' });
    await ledger.book([usageRecord('r1'), usageRecord('r2'), usageRecord('r3', { key: '=1+1' }), other]);
    const today = new Date().toISOString().slice(0, 10);
    await ledger.decide({
      id: '1',
      kind: 'payment',
      tenant: 't',
      amount: 10_000n,
      reason: 'x',
      author: 'ada',
    });
    const invoice = await invoiceFor(ledger.db, 't', '2026-03-01', today);
    expect(invoice).toMatchObject({ total_nano: '50000', total_usd: '0.00005' });
    expect(BigInt(invoice.total_nano)).toBe(await ledger.owed('t'));
    expect(invoiceCsv(invoice).split('\n')).toEqual([
      'kind,key,model,price_version,turns,input_tokens,cached_tokens,output_tokens,amount_nano,amount_usd',
      "usage,'=1+1,m,test,1,10,0,5,20000,0.00002",
      'usage,k,m,test,2,20,0,10,40000,0.00004',
      'payment,,,,1,0,0,0,-10000,-0.00001',
      'total,,,,,,,,50000,0.00005',
      '',
    ]);
    expect((await invoiceFor(ledger.db, 'nobody', DAYS.from, DAYS.to)).lines).toEqual([]);
  });

  it('turns are rated anew by corrections, once', async () => {
    await ledger.book([usageRecord('r1'), usageRecord('r2', { model: 'none' })]);
    const prices = PriceBook.parse(
      'versions: [{ version: v2, from: "2026-01-01", models: { m: { input: 1, output: 1 }, none: { input: 3, output: 0 } } }]',
    );
    const options = { ...DAYS, prices, reason: 'a wrong price', author: 'ada' };
    expect(await rerate(ledger, options)).toEqual({ turns: 2, corrected: 2, difference: 25_000n });
    expect(await ledger.owed('t')).toBe(15_000n + 30_000n);
    expect(await rerate(ledger, options)).toMatchObject({ corrected: 0, difference: 0n });
    const back = PriceBook.parse(
      'versions: [{ version: v3, from: "2026-01-01", models: { m: { input: 1, output: 2 } } }]',
    );
    expect(await rerate(ledger, { ...options, prices: back })).toMatchObject({ difference: 5_000n });
    expect(await ledger.verify()).toEqual([]);
  });

  it('each difference between the books is explained, or said to be none', async () => {
    await ledger.book([usageRecord('same'), usageRecord('more')]);
    await store('same', 'completed', 10, 5);
    await store('more', 'completed', 10, 7);
    for (const id of ['journal', 'queue', 'letter', 'gone']) await store(id, 'completed', 10, 5);
    await store('refused', 'failed', 10, 0);
    await new DeadLetters(ledger).add({ job: 'j', payload: { id: 'letter' }, reason: 'odd' });
    const spool = new Map(['waits', 'same'].map((id) => [id, 'the spool of a gateway']));
    const others = { journal: new Set(['journal']), queue: new Set(['queue']), spool };
    const { turns, stored, differences, faults } = await reconcile(ledger, others);
    expect([turns, stored, faults]).toEqual([2, 7, []]);
    expect(
      differences.map(({ responseId, explanation, between }) => `${responseId}: ${explanation} (${between})`),
    ).toEqual([
      'gone: unexplained (store and ledger)',
      'journal: in the journal (store and ledger)',
      'letter: dead letter (store and ledger)',
      'more: unexplained (store and ledger)',
      'queue: in the queue (store and ledger)',
      'refused: abandoned (store and ledger)',
      // What has arrived and is not acknowledged yet is no difference.
      'waits: in the spool (store and spool)',
      'letter: dead letter (dead letters)',
    ]);
    expect(differences.find(({ explanation }) => explanation === 'in the spool')?.detail).toBe(
      'waits in the spool the spool of a gateway',
    );
  });

  it('a statement is compared line by line', async () => {
    const id = (n: number) => `resp_${String(n).padStart(48, '0')}`;
    await ledger.book([
      usageRecord(id(1)),
      usageRecord(id(2), { partial: true }),
      usageRecord(id(3)),
      usageRecord(id(4)),
      usageRecord(id(5), { output: 0 }),
    ]);
    const csv = [
      'request_id,prompt_tokens,completion_tokens,finish_reason',
      `"cmpl-${id(1)}-0a1b",10,2,stop`,
      `${id(1)}-ffff,12,3,stop`,
      `${id(2)},10,9,abort`,
      `${id(3)},10,6,stop`,
      `${id(9)},10,1,stop`,
    ].join('\r\n');
    const found = await compareStatement(ledger, parseStatement(csv), { ...DAYS, engine: 'e' });
    expect(found.map(({ responseId, kind, output }) => [responseId, kind, ...output])).toEqual([
      [id(2), 'cut', 5, 9],
      [id(3), 'tokens', 5, 6],
      [id(9), 'missing_here', 0, 1],
      [id(4), 'missing_there', 5, 0],
    ]);
    expect(() => parseStatement('a,b\n1,2')).toThrow('no column');
    expect(() => parseStatement('id,input_tokens,output_tokens\nx,1,many')).toThrow('line 2');
  });
});
