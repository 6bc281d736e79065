<<<<<<< HEAD
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SqlAccess, type Scope } from '@turnpike/access';
import { Ledger } from '@turnpike/ledger';
import { UsageQueue } from '@turnpike/metering';
import { openDatabase } from '@turnpike/storage';
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

  it('tells the whole story of a response to its tenant, and nothing to another', async () => {
    const story = JSON.parse((await asKey('t', 'responses/resp_1')).text) as Record<string, unknown>;
    expect(story).toMatchObject({
      object: 'response.money',
      amount_usd: '0.00021',
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

  it('is for keys of the scopes, and for no one else', async () => {
    for (const path of ['usage', 'balances', 'responses/resp_1', 'dead_letters']) {
      expect((await asKey('agent', path)).status).toBe(403);
      expect((await asKey('nobody', path)).status).toBe(401);
    }
    for (const path of ['dead_letters', 'dead_letters?state=open']) {
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
    for (const path of ['/', '/response?id=resp_1', '/dead-letters', '/usage.csv', '/admin/queues/']) {
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
    for (const text of ['tenant:t', 'revenue:m', 'record 2', 'Price version'])
      expect(mine.page).toContain(text);
    expect((await mine.get('/response?id=resp_2')).status).toBe(404);
    expect(mine.page).not.toContain('0.00011');
    expect((await mine.get(`/usage.csv?${DAYS}`)).headers.get('content-disposition')).toContain('usage.csv');
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

describe('the queue', () => {
  it('has a board for operators, which no page of another site can use', async () => {
    const browser = await new Browser().signIn('operator');
    expect((await browser.get('/admin/queues/')).status).toBe(200);
    await browser.get('/admin/queues/api/queues');
    expect(browser.page).toContain('"name":"usage"');
    const evil = { origin: 'https://evil.example' };
    expect((await browser.post('/admin/queues/api/queues/usage/pause', {}, evil)).status).toBe(403);
  });

  it('may go away and come back: what is delivered is booked, once', async () => {
    await redis.kill();
    await until(async () => !(await health()).queue.startsWith('ok'));
    expect((await health()).status).toBe('ok');
    await redis.start();
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
=======
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Ledger, moneyStory } from '@turnpike/ledger';
import type { UsageRecord } from '@turnpike/metering';
import { openDatabase } from '@turnpike/storage';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, FAST } from './platform.js';
import { SocketClient, terminalOf, textOf } from './socket-client.js';

/** A thousand nano-dollars a token of input, two thousand a token of output. */
const PRICES =
  'versions: [{ version: test, from: "2026-01-01", models: { sim: { input: 1, cachedInput: 0.5, output: 2 } } }]';

let engine: App;
let slow: App;
let folder: string;
let gateway: App | undefined;
beforeAll(async () => {
  const start = (...pace: string[]) =>
    App.start('engine', ['--port', '0', '--model', 'sim', '--context', '1000000', ...pace]);
  [engine, slow] = await Promise.all([start(...FAST), start('--tps', '100', '--ttft-ms', '0')]);
});
afterAll(() => Promise.all([engine.stop(), slow.stop()]));
afterEach(async () => {
  await gateway?.stop();
  gateway = undefined;
  rmSync(folder, { recursive: true, force: true });
});

async function start(billing: string, by = engine): Promise<App> {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-billing-'));
  writeFileSync(join(folder, 'prices.yaml'), PRICES);
  writeFileSync(
    join(folder, 'turnpike.yaml'),
    [
      'port: 0',
      `engines: { engine: { url: "${by.url}", kind: vllm } }`,
      'models: { sim: { engine: engine, contextTokens: 1000000 } }',
      `billing: { prices: prices.yaml, progressTokens: 8, ${billing} }`,
    ].join('\n'),
  );
  return restart();
}

async function restart(): Promise<App> {
  gateway = await App.start('gateway', ['--config', 'turnpike.yaml'], {}, folder);
  return gateway;
}

async function withLedger<T>(task: (ledger: Ledger) => Promise<T>): Promise<T> {
  const db = await openDatabase({ kind: 'sqlite', path: join(folder, 'data/turnpike.db') }, () => undefined);
  try {
    return await task(await Ledger.open(db, 'sqlite'));
  } finally {
    await db.destroy();
  }
}

/** The usage record of a response, once it is booked. */
async function booked(id: string): Promise<UsageRecord> {
  for (;;) {
    const { record } = await withLedger((ledger) => moneyStory(ledger.db, id));
    if (record !== undefined) return record;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const answerOf = ({ parts }: UsageRecord) => parts.find(({ purpose }) => purpose === 'answer')?.tokens;
const post = (url: string, body: object) =>
  fetch(`${url}/v1/responses`, { method: 'POST', body: JSON.stringify({ model: 'sim', ...body }) });
const budget = (usd: string, more = '') =>
  `budgets: [{ tenant: local, period: total, usd: "${usd}"${more} }]`;

describe('a turn is booked with what its client was told', () => {
  it('on every lane, of a connection that has many, and over HTTP', async () => {
    const { url } = await start('');
    const client = await SocketClient.connect(url);
    const first = terminalOf(await client.create({ input: 'hello', stream_id: 'a' })).response;
    const next = { input: 'again', stream_id: 'a', previous_response_id: first.id };
    const second = terminalOf(await client.create(next)).response;
    const third = (await (await post(url, { input: 'there' })).json()) as typeof first;
    client.close();
    for (const { id, usage } of [first, second, third]) {
      const record = await booked(id);
      expect(record).toMatchObject({
        outcome: 'completed',
        partial: false,
        priceVersion: 'test',
        key: 'open',
      });
      expect(answerOf(record)).toMatchObject({
        input: usage?.input_tokens,
        cached: usage?.input_tokens_details.cached_tokens,
        output: usage?.output_tokens,
      });
      const { input_tokens: input = 0, output_tokens: output = 0 } = usage ?? {};
      const cached = usage?.input_tokens_details.cached_tokens ?? 0;
      expect(record.amount).toBe((input - cached) * 1_000 + cached * 500 + output * 2_000);
    }
    expect((await booked(second.id)).lane).toBe('a');
    expect(await withLedger((ledger) => ledger.verify())).toEqual([]);
  });

  it('a warm-up is a row of its own at its own price; what fails before an engine is asked is none', async () => {
    const { url } = await start('');
    const client = await SocketClient.connect(url);
    const warm = terminalOf(await client.create({ input: 'hello', generate: false })).response;
    expect(await booked(warm.id)).toMatchObject({
      amount: 0,
      parts: [{ purpose: 'warm_up', tokens: { input: warm.usage?.input_tokens, output: 0 } }],
    });
    const refused = await client.create({ input: 'x', previous_response_id: 'resp_unknown' });
    expect(refused.at(-1)?.type).toBe('error');
    client.close();
    const rows = await withLedger(({ db }) => db.selectFrom('ledger_usage').select('outcome').execute());
    expect(rows).toHaveLength(1);
  });

  it('a summary is a part of its own', async () => {
    const { url } = await start('');
    const client = await SocketClient.connect(url);
    const input = [{ role: 'user', content: 'hello' }, { type: 'compaction_trigger' }];
    const { id, usage } = terminalOf(await client.create({ input })).response;
    client.close();
    const record = await booked(id);
    expect(record.parts.map(({ purpose }) => purpose)).toEqual(['compaction']);
    expect(record.parts[0]?.tokens.output).toBe(usage?.output_tokens);
    const window = (await (
      await fetch(`${url}/v1/responses/compact`, {
        method: 'POST',
        body: JSON.stringify({ model: 'sim', input: 'hello' }),
      })
    ).json()) as { id: string };
    expect(await booked(window.id)).toMatchObject({ parts: [{ purpose: 'compaction' }] });
  });

  it('E09: a client that leaves, or interrupts, pays for what was received of the engine, once', async () => {
    const { url } = await start('', slow);
    const leaving = await SocketClient.connect(url);
    leaving.send({ type: 'response.create', model: 'sim', input: '[sim tokens=400] hello' });
    await leaving.until(() => leaving.events.filter(({ type }) => type.endsWith('.delta')).length >= 5);
    const id = leaving.events[0]?.response?.id ?? '';
    leaving.socket.terminate();
    const record = await booked(id);
    expect(record).toMatchObject({ outcome: 'disconnected', partial: true });
    expect(answerOf(record)?.output).toBeGreaterThanOrEqual(5);
    expect(answerOf(record)?.output).toBeLessThan(400);

    const client = await SocketClient.connect(url);
    const ended = client.create({ input: '[sim tokens=400] hello' });
    await client.until(() => client.events.some(({ type }) => type.endsWith('.delta')));
    client.send({ type: 'response.interrupt', response_id: client.events[0]?.response?.id });
    const { response } = terminalOf(await ended);
    client.close();
    const cancelled = await booked(response.id);
    expect(cancelled).toMatchObject({ outcome: 'cancelled', partial: true });
    expect(answerOf(cancelled)?.output).toBe(response.usage?.output_tokens);
  });

  it('a gateway that is killed leaves what it had written down, and the next one settles it', async () => {
    const { url } = await start('', slow);
    const client = await SocketClient.connect(url);
    const done = terminalOf(await client.create({ input: '[sim tokens=5] hello' })).response;
    const from = client.events.length;
    client.send({ type: 'response.create', model: 'sim', input: '[sim tokens=2000] MARKER-OF-A-PROMPT' });
    const mine = () => client.events.slice(from);
    await client.until(() => mine().filter(({ type }) => type.endsWith('.delta')).length > 30);
    const id = mine()[0]?.response?.id ?? '';
    gateway?.signal('SIGKILL');
    await gateway?.ended();
    const journals = join(folder, 'data/journal');
    const text = readdirSync(journals, { recursive: true })
      .filter((name) => String(name).endsWith('.journal'))
      .map((name) => readFileSync(join(journals, String(name)), 'utf8'))
      .join('');
    expect(text).toContain(id);
    expect(text).not.toContain('MARKER');
    await restart();
    const record = await booked(id);
    expect(record).toMatchObject({ outcome: 'lost', partial: true, reason: 'gateway_lost' });
    expect(answerOf(record)?.output).toBeGreaterThanOrEqual(16);
    expect((await booked(done.id)).outcome).toBe('completed');
    // Its journal goes once the ledger has it; the new one's own stays.
    while (readdirSync(journals).length > 1) await new Promise((resolve) => setTimeout(resolve, 20));
  });
});

describe('a budget', () => {
  it('E12: of 100 turns at once on a budget for three, no more than three are answered', async () => {
    const body = { input: 'hello', max_output_tokens: 200, store: false };
    // The worst case of each is about 0.00047 dollars.
    const { url } = await start(budget('0.0015'));
    const answers = await Promise.all(Array.from({ length: 100 }, () => post(url, body)));
    const by = (status: number) => answers.filter((each) => each.status === status);
    expect(by(200).length + by(429).length).toBe(100);
    expect(by(200).length).toBeGreaterThan(0);
    const refused = (await by(429)[0]?.json()) as { error: object };
    expect(refused.error).toMatchObject({
      type: 'insufficient_quota',
      code: 'insufficient_quota',
      param: null,
    });
    const spent = () =>
      withLedger(async ({ db }) => {
        const query = db.selectFrom('ledger_spend').selectAll().where('time_window', '=', 'total');
        return (await query.execute()).filter(({ subject }) => subject.startsWith('["tenant"'))[0];
      });
    for (const each of by(200)) await booked(((await each.json()) as { id: string }).id);
    expect(await spent()).toMatchObject({ held: 0 });
    expect((await spent())?.spent).toBeLessThanOrEqual(1_500_000);
  });

  it('that ends in the middle of an answer ends it there, with the exact bill', async () => {
    const { url } = await start(`holdOutputTokens: 32, ${budget('0.0005')}`, slow);
    const client = await SocketClient.connect(url);
    const events = await client.create({ input: '[sim tokens=2000] hello' });
    const { response, type } = terminalOf(events);
    expect(type).toBe('response.incomplete');
    expect(response).toMatchObject({ incomplete_details: { reason: 'insufficient_quota' } });
    expect(textOf(events).length).toBeGreaterThan(0);
    const record = await booked(response.id);
    expect(answerOf(record)?.output).toBe(response.usage?.output_tokens);
    expect(record.amount).toBeGreaterThan(400_000);
    // The documented overdraft: what the engine sends in one go beyond what is held.
    expect(record.amount).toBeLessThan(600_000);
    const refused = terminalOf(await client.create({ input: 'more' })).response;
    expect(refused).toMatchObject({ status: 'failed', error: { code: 'insufficient_quota' } });
    client.close();
  });

  it('in shadow mode only says so', async () => {
    const { url, output } = await start(budget('0.0000001', ', shadow: true'));
    expect((await post(url, { input: 'hello' })).status).toBe(200);
    expect(output()).toContain('a budget in shadow mode would have refused');
  });
});
>>>>>>> w-money
