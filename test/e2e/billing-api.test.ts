import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BillingStand } from './console/stand.js';

let stand: BillingStand;
beforeAll(async () => {
  stand = await BillingStand.start();
});
afterAll(() => stand.stop());
const asKey = (...asked: Parameters<BillingStand['asKey']>) => stand.asKey(...asked);

const DAYS = 'from=2026-01-01&to=2026-12-31';

describe('the API', () => {
  it('adds usage up, for the tenant of the key; for operators, of all', async () => {
    const { text } = await asKey('t', `usage?group_by=tenant,model&${DAYS}`);
    expect(JSON.parse(text)).toMatchObject({
      data: [{ object: 'usage', tenant: 't', model: 'm', turns: 1, output: 100, amount_usd: '0.00021' }],
    });
    const all = await asKey('operator', `usage?group_by=tenant,key&${DAYS}&format=csv`);
    expect(all.type).toContain('text/csv');
    expect(all.text.split('\r\n')[2]).toMatch(/^u,'=cmd\(\),1,/);
    expect(JSON.parse((await asKey('t', `usage?tenant=u&${DAYS}`)).text)).toMatchObject({ data: [] });
    expect(JSON.parse((await asKey('u', 'balances')).text)).toMatchObject({
      data: [{ tenant: 'u', owed_usd: '0.00011' }],
    });
  });

  it('says what of a question cannot be answered', async () => {
    const faults: [string, string][] = [
      ['usage?from=2026-02-30', "'from' must be a day as 2027-01-31."],
      ['usage?from=2026-03-02&to=2026-03-01', "'to' must not be before 2026-03-02."],
      ['usage?from=2999-01-01', "'from' must not be after "],
      ['usage?tenant=a%00b', "'tenant' must not have control characters."],
      ['invoices?tenant=%00', "'tenant' must not have control characters."],
    ];
    for (const [path, message] of faults) {
      const { status, text } = await asKey('operator', path);
      expect({ path, status, text }).toEqual({ path, status: 400, text: expect.stringContaining(message) });
    }
    expect((await asKey('operator', 'responses/%00')).status).toBe(404);
    expect((await asKey('operator', 'dead_letters/%00/write_off', { reason: 'x' })).status).toBe(404);
    const odd = await asKey('operator', 'dead_letters/dl_1/retry', { reason: 'a\0b' });
    expect({ status: odd.status, text: odd.text }).toMatchObject({ status: 400 });
  });

  it('writes invoices: of its own tenant for who asks, of any for operators', async () => {
    const invoice = { object: 'invoice', tenant: 't', from: '2026-01-01', to: '2026-12-31', currency: 'USD' };
    const lines = [{ kind: 'usage', model: 'm', turns: 1, output_tokens: 100, amount_usd: '0.00021' }];
    for (const [name, query] of [
      ['t', ''],
      ['operator', 'tenant=t&'],
    ] as const) {
      const { text } = await asKey(name, `invoices?${query}${DAYS}`);
      expect(JSON.parse(text)).toMatchObject({ ...invoice, lines, total_usd: '0.00021' });
    }
    const table = await asKey('u', `invoices?${DAYS}&format=csv`);
    expect(table.type).toContain('text/csv');
    expect(table.text.split('\n')[1]).toMatch(/^usage,'=cmd\(\),m,test,1,/);
    const foreign = await asKey('t', `invoices?tenant=u&${DAYS}`);
    const unknown = await asKey('t', `invoices?tenant=v&${DAYS}`);
    expect([foreign.status, foreign.text.replace('"u"', '"v"')]).toEqual([200, unknown.text]);
    expect(JSON.parse(foreign.text)).toMatchObject({ lines: [], total_usd: '0' });
    expect((await asKey('operator', 'invoices')).status).toBe(400);
    expect((await asKey('t', 'invoices?from=2026-13-01')).status).toBe(400);
  });

  it('tells the whole story of a response to its tenant, and nothing to another', async () => {
    const story = JSON.parse((await asKey('t', 'responses/resp_1')).text) as Record<string, unknown>;
    expect(story).toMatchObject({
      object: 'response.money',
      amount_usd: '0.00021',
      job: expect.stringMatching(/^usage-gateway-1-\d+-\d+$/),
      record: { admitSequence: 1, settleSequence: 2, priceVersion: 'test' },
      transactions: [
        {
          kind: 'usage',
          price_version: 'test',
          entries: [
            { account: 'tenant:t', amount_usd: '0.00021' },
            { account: 'revenue:m', amount_usd: '-0.00021' },
          ],
        },
      ],
    });
    const foreign = await asKey('u', 'responses/resp_1');
    const unknown = await asKey('u', 'responses/resp_9');
    expect([foreign.status, foreign.text.replace('resp_1', 'resp_9')]).toEqual([404, unknown.text]);
  });

  it('shows operators that the books agree', async () => {
    const { text } = await asKey('operator', 'reconciliation');
    expect(JSON.parse(text)).toEqual({
      object: 'reconciliation',
      turns: 2,
      stored: 0,
      differences: [],
      faults: [],
    });
  });

  it('is for keys of the scopes, and for no one else', async () => {
    for (const path of ['usage', 'invoices', 'balances', 'responses/resp_1', 'dead_letters']) {
      expect((await asKey('agent', path)).status).toBe(403);
      expect((await asKey('nobody', path)).status).toBe(401);
    }
    for (const path of ['dead_letters', 'dead_letters?state=open', 'reconciliation']) {
      expect((await asKey('t', path)).status).toBe(403);
    }
    expect((await asKey('t', 'dead_letters/dl_1/retry', { reason: 'x' })).status).toBe(403);
    expect((await asKey('t', 'usage?group_by=prompt')).status).toBe(400);
    expect((await asKey('t', 'usage?from=2026-02-31x')).status).toBe(400);
    expect((await asKey('t', 'nothing')).status).toBe(404);
  });
});
