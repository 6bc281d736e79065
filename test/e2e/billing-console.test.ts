import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SqlAccess, type Scope } from '@turnpike/access';
import { Ledger } from '@turnpike/ledger';
import { UsageQueue } from '@turnpike/metering';
import { openDatabase } from '@turnpike/storage';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { usageRecord } from '../ledger/records.js';
import { App } from './platform.js';
import { startRedis, type RedisService } from './services.js';

let redis: RedisService;
let folder: string;
let billing: App;
let queue: UsageQueue;
const keys = new Map<string, string>();

/** The key of a tenant with one scope. */
const keyOf = (name: string) => keys.get(name) ?? '';

beforeAll(async () => {
  redis = await startRedis({ own: true });
  folder = mkdtempSync(join(tmpdir(), 'turnpike-billing-'));
  const db = await openDatabase({ kind: 'sqlite', path: join(folder, 'data/turnpike.db') }, () => undefined);
  const access = await SqlAccess.open(db, 'sqlite');
  await Ledger.open(db, 'sqlite');
  for (const id of ['ops', 't', 'u']) await access.createTenant({ id, name: id });
  const made: [string, string, Scope][] = [
    ['operator', 'ops', 'operator'],
    ['t', 't', 'billing'],
    ['u', 'u', 'billing'],
    ['agent', 't', 'inference'],
  ];
  for (const [name, tenant, scope] of made) {
    const { secret } = await access.createKey({
      tenant,
      name,
      scopes: [scope],
      models: null,
      expiresAt: null,
    });
    keys.set(name, secret);
  }
  await db.destroy();
  billing = await App.start('billing', [], { PORT: '0', REDIS_URL: redis.url }, folder);
  queue = new UsageQueue({ url: redis.url, onError: () => undefined });
  await deliver([
    usageRecord('resp_1', { tenant: 't', output: 100 }),
    usageRecord('resp_2', { tenant: 'u', key: '=cmd()', output: 50 }),
  ]);
  await until(async () => (await asKey('t', 'responses/resp_1')).status === 200);
});

afterAll(async () => {
  await queue.close();
  await billing.stop();
  await redis.remove();
  rmSync(folder, { recursive: true, force: true });
});

let sequence = 0;

/** As a gateway does: every record has a number of its own in the journal, and a failed delivery comes again. */
async function deliver(records: Parameters<UsageQueue['deliver']>[0]): Promise<void> {
  const numbered = records.map((record) => ({
    ...record,
    admitSequence: ++sequence,
    settleSequence: ++sequence,
  }));
  await until(() =>
    queue.deliver(numbered, 'gateway-1').then(
      () => true,
      () => false,
    ),
  );
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function asKey(name: string, path: string, body?: unknown) {
  const answer = await fetch(`${billing.url}/billing/v1/${path}`, {
    headers: { authorization: `Bearer ${keyOf(name)}` },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, type: answer.headers.get('content-type') ?? '', text };
}

/** Somebody at a browser: follows no redirects, keeps one cookie. */
class Browser {
  cookie = '';
  page = '';

  async get(path: string) {
    return this.#go(path, {});
  }

  async post(path: string, fields: Record<string, string>, headers: Record<string, string> = {}) {
    return this.#go(path, { method: 'POST', body: new URLSearchParams(fields), headers });
  }

  async signIn(name: string): Promise<this> {
    const { status } = await this.post('/login', { key: keyOf(name) });
    expect(status).toBe(303);
    return this;
  }

  get token(): string {
    return /name="token" value="([^"]+)"/.exec(this.page)?.[1] ?? '';
  }

  async #go(path: string, init: RequestInit) {
    const headers = { ...(init.headers as Record<string, string>), cookie: this.cookie };
    const answer = await fetch(billing.url + path, { ...init, headers, redirect: 'manual' });
    const set = answer.headers.get('set-cookie');
    if (set !== null) this.cookie = set.split(';', 1)[0] ?? '';
    this.page = await answer.text();
    return { status: answer.status, headers: answer.headers, to: answer.headers.get('location') };
  }
}

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

describe('the pages', () => {
  it('lead to the form of a key, and say nothing before', async () => {
    const browser = new Browser();
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
    expect((await browser.post('/login', { key: keyOf('agent') })).status).toBe(403);
    expect(browser.cookie).toBe('');
  });

  it('set a cookie that no script and no other site gets, and a policy without scripts', async () => {
    const browser = new Browser();
    const { headers } = await browser.post('/login', { key: keyOf('t') });
    expect(headers.get('set-cookie')).toMatch(/; HttpOnly; SameSite=Strict; Max-Age=\d+$/);
    expect(headers.get('set-cookie')).not.toContain(keyOf('t'));
    const page = await browser.get('/');
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'self';/);
    expect(browser.page).not.toMatch(/<script|style=|onclick/);
    expect((await browser.get('/assets/style.css')).headers.get('content-type')).toContain('text/css');
  });

  it('show usage, and the story of a response; of another tenant, nothing', async () => {
    const mine = await new Browser().signIn('t');
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
    await deliver([usageRecord('resp_html', { tenant: 't', key: '<script>alert(1)</script>' })]);
    await until(async () => (await asKey('t', 'responses/resp_html')).status === 200);
    const browser = await new Browser().signIn('t');
    await browser.get('/response?id=resp_html');
    expect(browser.page).toContain('&lt;script&gt;alert(1)');
    await browser.get('/response?id="><img src=x>');
    expect(browser.page).not.toContain('<img');
  });

  it('end with the session, and with the key', async () => {
    const browser = await new Browser().signIn('t');
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
    await deliver([bad]);
    await until(async () => (await asKey('operator', 'dead_letters?state=open')).text.includes('resp_bad'));
    const { data } = JSON.parse((await asKey('operator', 'dead_letters?state=open')).text) as {
      data: { id: string }[];
    };
    const [{ id } = { id: '' }] = data;
    expect((await asKey('operator', `dead_letters/${id}/retry`, {})).status).toBe(400);
    expect(
      JSON.parse((await asKey('operator', `dead_letters/${id}/retry`, { reason: 'again' })).text),
    ).toMatchObject({ error: { code: 'invalid_value' } });
    const browser = await new Browser().signIn('operator');
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
    expect((await (await new Browser().signIn('u')).get('/decisions')).status).toBe(403);
    const browser = await new Browser().signIn('operator');
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

describe('the queue', () => {
  it('has a board for operators, which no page of another site can use', async () => {
    const browser = await new Browser().signIn('operator');
    expect((await browser.get('/admin/queues/')).status).toBe(200);
    await browser.get('/admin/queues/api/queues');
    expect(browser.page).toContain('"name":"usage"');
    const evil = { origin: 'https://evil.example' };
    expect((await browser.post('/admin/queues/api/queues/usage/pause', {}, evil)).status).toBe(403);
  });

  it('that was paused is not well until it is resumed', async () => {
    const connection = new Redis(redis.url, { maxRetriesPerRequest: null });
    const paused = new Queue('usage', { connection });
    try {
      await paused.pause();
      expect((await health()).queue).toBe('the queue is paused');
      await paused.resume();
      await until(async () => (await health()).queue === 'ok');
    } finally {
      await paused.close();
      connection.disconnect();
    }
  });

  it('may go away and come back: what is delivered is booked, once', async () => {
    await redis.kill();
    await until(async () => !(await health()).queue.startsWith('ok'));
    expect((await health()).status).toBe('ok');
    expect((await asKey('operator', 'reconciliation')).status).toBe(503);
    await redis.start();
    // Although there is nothing to book yet.
    await until(async () => (await health()).queue === 'ok');
    const record = usageRecord('resp_after', { tenant: 't' });
    await deliver([record]);
    await deliver([record, usageRecord('resp_last', { tenant: 't' })]);
    await until(async () => (await asKey('t', 'responses/resp_last')).status === 200);
    const story = JSON.parse((await asKey('t', 'responses/resp_after')).text) as { transactions: unknown[] };
    expect(story.transactions).toHaveLength(1);
  });

  it('is refused at the start when Redis may throw jobs away', async () => {
    const client = new Redis(redis.url);
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    try {
      const start = App.start('billing', [], { PORT: '0', REDIS_URL: redis.url });
      await expect(start).rejects.toThrow(/ended with 2:[^]*REDIS_URL: .*noeviction/);
    } finally {
      await client.config('SET', 'maxmemory-policy', 'noeviction');
      client.disconnect();
    }
  });
});

async function health(): Promise<{ status: string; queue: string }> {
  const answer = await fetch(`${billing.url}/health`);
  return (await answer.json()) as { status: string; queue: string };
}
