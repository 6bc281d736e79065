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
  SqlHolds,
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
    ledger = await Ledger.open(await databases.empty(), kind);
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
    expect(invoiceCsv(invoice).split('\r\n')).toEqual([
      'kind,key,model,price_version,turns,input_tokens,cached_tokens,output_tokens,amount_nano,amount_usd',
      "usage,'=1+1,m,test,1,10,0,5,20000,0.00002",
      'usage,k,m,test,2,20,0,10,40000,0.00004',
      'payment,,,,1,0,0,0,-10000,-0.00001',
      'total,,,,,,,,50000,0.00005',
      '',
    ]);
    await ledger.book([usageRecord('r5', { tenant: 'v', model: 'none' })]);
    expect((await invoiceFor(ledger.db, 'v', DAYS.from, DAYS.to)).lines).toMatchObject([
      { model: 'none', price_version: null, amount_usd: '0' },
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
    const holds = new SqlHolds(ledger.db, { kind, leaseMs: 60_000 });
    const budget = {
      name: 'b',
      subject: { scope: 'tenant' as const, tenant: 't' },
      period: 'total' as const,
      limit: 1_000_000,
      shadow: false,
    };
    for (const id of ['letter', 'nowhere']) {
      await holds.reserve({ id, tenant: 't', key: 'k', model: 'm', at: 0, amount: 2 }, [budget]);
      await holds.settle(id, 1);
    }
    const { turns, stored, differences, faults } = await reconcile(ledger, () => Promise.resolve(others));
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
      'letter: dead letter (holds and ledger)',
      'nowhere: unexplained (holds and ledger)',
      'letter: dead letter (dead letters)',
    ]);
    expect(differences.find(({ explanation }) => explanation === 'in the spool')?.detail).toBe(
      'waits in the spool the spool of a gateway',
    );
    // Who cannot read journals cannot say that something is nowhere.
    const { differences: seen } = await reconcile(ledger, () =>
      Promise.resolve({ ...others, journal: undefined }),
    );
    const unsure = seen.filter(({ explanation }) => explanation === 'in a journal, or unexplained');
    expect(unsure.map(({ responseId }) => responseId)).toEqual(['gone', 'journal', 'nowhere']);
    // What is given up is held no longer.
    const letters = new DeadLetters(ledger);
    const [letter] = await letters.list('open');
    await letters.writeOff(letter?.id ?? '', { author: 'ada', reason: 'odd' });
    const left = await ledger.db.selectFrom('ledger_spend').select('held').execute();
    expect(left.map(({ held }) => Number(held)).filter((held) => held > 0)).toEqual([1]);
    expect(await ledger.verify()).toEqual([]);
  });

  it('what is settled while it is looked for is not taken for lost', async () => {
    let looks = 0;
    const { differences } = await reconcile(ledger, async () => {
      // Each look misses one that has just ended, and finds the one before.
      const before = looks === 0 ? [] : [`turn-${looks}`];
      looks++;
      await store(`turn-${looks}`, 'completed', 10, 5);
      return { journal: new Set(before), queue: new Set(), spool: new Map() };
    });
    expect(differences).toMatchObject([{ responseId: 'turn-1', explanation: 'in the journal' }]);
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
    const read = (...lines: string[]) =>
      parseStatement(['\uFEFFid,input_tokens,output_tokens', ...lines].join('\n'));
    expect(read('x,1,2', '', '"a ""b"", c",3, 4 ')).toEqual([
      { responseId: 'x', inputTokens: 1, outputTokens: 2 },
      { responseId: 'a "b", c', inputTokens: 3, outputTokens: 4 },
    ]);
    // What is not there is not nothing.
    for (const odd of ['x,1,many', 'x,1,', 'x,,1', 'x,1', 'x,-1,1', 'x,1e3,1', ',1,1', '"x,1,1']) {
      expect(() => read('y,1,1', '', odd)).toThrow('line 4 of the statement');
    }
  });
});
