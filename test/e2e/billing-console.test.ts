import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { usageRecord } from '../ledger/records.js';
import { Browser } from './console/browser.js';
import { BillingStand, until } from './console/stand.js';

let stand: BillingStand;
beforeAll(async () => {
  stand = await BillingStand.start();
});
afterAll(() => stand.stop());
const asKey = (...asked: Parameters<BillingStand['asKey']>) => stand.asKey(...asked);

const DAYS = 'from=2026-01-01&to=2026-12-31';

describe('the pages', () => {
  it('lead to the form of a key, and say nothing before', async () => {
    const browser = new Browser(stand);
    for (const path of [
      '/',
      '/invoice',
      '/response?id=resp_1',
      '/dead-letters',
      '/usage.csv',
      '/admin/queues/',
    ]) {
      expect(await browser.get(path)).toMatchObject({ status: 303, to: '/login' });
    }
    await browser.get('/login');
    expect(browser.page).toContain('type="password"');
    expect((await browser.post('/login', { key: 'wrong' })).status).toBe(401);
    expect((await browser.post('/login', { key: stand.keyOf('agent') })).status).toBe(403);
    expect(browser.cookie).toBe('');
  });

  it('set a cookie that no script and no other site gets, and a policy without scripts', async () => {
    const browser = new Browser(stand);
    const { headers } = await browser.post('/login', { key: stand.keyOf('t') });
    expect(headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Strict; Max-Age=\d+$/);
    expect(headers.get('set-cookie')).not.toContain(stand.keyOf('t'));
    const page = await browser.get('/');
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'self';/);
    expect(browser.page).not.toMatch(/<script|style=|onclick/);
    expect((await browser.get('/assets/style.css')).headers.get('content-type')).toContain('text/css');
  });

  it('show usage, and the story of a response; of another tenant, nothing', async () => {
    const mine = await new Browser(stand).signIn('t');
    await mine.get(`/?${DAYS}`);
    expect(mine.page).toContain('$0.00021');
    expect(mine.page).not.toContain('Dead letters');
    await mine.get('/response?id=resp_1');
    for (const text of ['tenant:t', 'revenue:m', 'record 2', 'Price version', 'usage-gateway-1-'])
      expect(mine.page).toContain(text);
    expect((await mine.get('/response?id=resp_2')).status).toBe(404);
    expect(mine.page).not.toContain('0.00011');
    expect((await mine.get(`/usage.csv?${DAYS}`)).headers.get('content-disposition')).toContain('usage.csv');
    await mine.get(`/?${DAYS}`);
    const [, link = ''] = /href="(\/invoice[^"]+format=json)"/.exec(mine.page) ?? [];
    const invoice = await mine.get(link.replaceAll('&amp;', '&'));
    expect(invoice.headers.get('content-disposition')).toContain('invoice-2026-01-01-2026-12-31.json');
    expect(JSON.parse(mine.page)).toMatchObject({ tenant: 't', total_usd: '0.00021' });
    for (const path of ['/dead-letters', '/admin/queues/', '/admin/queues/api/queues']) {
      expect((await mine.get(path)).status).toBe(403);
    }
  });

  it('escape what people named', async () => {
    await stand.deliver([usageRecord('resp_html', { tenant: 't', key: '<script>alert(1)</script>' })]);
    await until(async () => (await asKey('t', 'responses/resp_html')).status === 200);
    const browser = await new Browser(stand).signIn('t');
    await browser.get('/response?id=resp_html');
    expect(browser.page).toContain('&lt;script&gt;alert(1)');
    await browser.get('/response?id="><img src=x>');
    expect(browser.page).not.toContain('<img');
  });

  it('end with the session, and with the key', async () => {
    const browser = await new Browser(stand).signIn('t');
    await browser.get('/');
    const { cookie, token } = browser;
    expect((await browser.post('/logout', { token: 'forged' })).status).toBe(403);
    expect(await browser.post('/logout', { token })).toMatchObject({ status: 303, to: '/login' });
    browser.cookie = cookie;
    expect(await browser.get('/')).toMatchObject({ status: 303, to: '/login' });
  });
});

describe('what cannot be booked', () => {
  it('waits for an operator, who books it or writes it off with a reason that the ledger keeps', async () => {
    const bad = { ...usageRecord('resp_bad'), amount: 'much' } as unknown as ReturnType<typeof usageRecord>;
    await stand.deliver([bad]);
    await until(async () => (await asKey('operator', 'dead_letters?state=open')).text.includes('resp_bad'));
    const { data } = JSON.parse((await asKey('operator', 'dead_letters?state=open')).text) as {
      data: { id: string }[];
    };
    const [{ id } = { id: '' }] = data;
    expect((await asKey('operator', `dead_letters/${id}/retry`, {})).status).toBe(400);
    expect(
      JSON.parse((await asKey('operator', `dead_letters/${id}/retry`, { reason: 'again' })).text),
    ).toMatchObject({ error: { code: 'invalid_value' } });
    const browser = await new Browser(stand).signIn('operator');
    await browser.get('/');
    expect(browser.page).toContain('could not be booked');
    await browser.get('/dead-letters');
    const path = `/dead-letters/${id}/write-off`;
    const { token } = browser;
    expect((await browser.post(path, { reason: 'broken' })).status).toBe(403);
    const evil = { origin: 'https://evil.example' };
    expect((await browser.post(path, { reason: 'broken', token }, evil)).status).toBe(403);
    expect((await browser.post(path, { reason: ' ', token })).status).toBe(400);
    expect(await browser.post(path, { reason: 'broken meter', token })).toMatchObject({ status: 303 });
    expect((await browser.post(path, { reason: 'twice', token })).status).toBe(404);
    await browser.get('/response?id=resp_bad');
    expect(browser.page).toContain(`write_off:${id}`);
    expect(browser.page).toMatch(/By key_[0-9a-f]+: broken meter/);
  });
});

describe('a payment or a refund', () => {
  const ofUnit = { id: 'ticket-1', kind: 'payment', tenant: 'u', amount_usd: '0.00001', reason: 'wire' };

  it('is booked by operators, once for an id', async () => {
    expect((await asKey('u', 'decisions', ofUnit)).status).toBe(403);
    const before = (await asKey('u', 'balances')).text;
    for (const booked of [true, false]) {
      const { status, text } = await asKey('operator', 'decisions', ofUnit);
      expect(status).toBe(200);
      expect(JSON.parse(text)).toMatchObject({
        object: 'decision',
        booked,
        response_id: null,
        amount_usd: '0.00001',
      });
    }
    expect((await asKey('u', 'balances')).text).not.toBe(before);
    expect((await asKey('u', 'invoices?from=2026-01-01&format=csv')).text).toContain(
      'payment,,,,1,0,0,0,-10000,',
    );
    expect((await asKey('operator', 'decisions', { ...ofUnit, amount_usd: -1 })).status).toBe(400);
    expect((await asKey('operator', 'decisions')).status).toBe(404);
  });

  it('has a form, that is booked once however often it is sent', async () => {
    expect((await (await new Browser(stand).signIn('u')).get('/decisions')).status).toBe(403);
    const browser = await new Browser(stand).signIn('operator');
    await browser.get('/decisions');
    const valueOf = (name: string) =>
      new RegExp(`name="${name}" value="([^"]*)"`).exec(browser.page)?.[1] ?? '';
    const [id, token] = [valueOf('id'), valueOf('token')];
    const form = {
      id,
      token,
      kind: 'refund',
      tenant: 't',
      amount_usd: '0.00001',
      response_id: '',
      reason: '<script>',
    };
    const { token: _, ...withoutToken } = form;
    expect((await browser.post('/decisions', withoutToken)).status).toBe(403);
    expect((await browser.post('/decisions', form, { origin: 'https://evil.example' })).status).toBe(403);
    for (const amount_usd of ['-1', '1e9', '0', '99999999999', '0.0000000001', 'x']) {
      expect((await browser.post('/decisions', { ...form, amount_usd })).status).toBe(400);
      expect(browser.page).toContain('value="&lt;script&gt;"');
      expect(valueOf('id')).toBe(id);
    }
    const before = (await asKey('t', 'balances')).text;
    const sent = await Promise.all([browser.post('/decisions', form), browser.post('/decisions', form)]);
    expect(sent.map(({ status }) => status)).toEqual([303, 303]);
    const owed = (text: string) => Number(/"owed_usd":"([^"]+)"/.exec(text)?.[1]);
    const after = (await asKey('t', 'balances')).text;
    expect(owed(before) - owed(after)).toBeCloseTo(0.00001, 9);
  });
});
