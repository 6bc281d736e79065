import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
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
/** Has several writes on their way when it is told to stop. */
let quick: App;
let folder: string;
let gateway: App | undefined;
beforeAll(async () => {
  const start = (...pace: string[]) =>
    App.start('engine', ['--port', '0', '--model', 'sim', '--context', '1000000', ...pace]);
  [engine, slow, quick] = await Promise.all([
    start(...FAST),
    start('--tps', '100', '--ttft-ms', '0'),
    start('--tps', '1000', '--ttft-ms', '0'),
  ]);
});
afterAll(async () => {
  await stop();
  await Promise.all([engine.stop(), slow.stop(), quick.stop()]);
});

let settings = '';

async function stop(): Promise<void> {
  await gateway?.stop();
  if (gateway !== undefined) rmSync(folder, { recursive: true, force: true });
  gateway = undefined;
}

/** A gateway with these settings, in front of this engine: the one that runs, if it is such a one. */
async function start(billing: string, by = engine): Promise<App> {
  const wanted = `${billing} ${by.url}`;
  if (gateway?.running === true && wanted === settings) return gateway;
  await stop();
  settings = wanted;
  folder = mkdtempSync(join(tmpdir(), 'turnpike-billing-'));
  writeFileSync(join(folder, 'prices.yaml'), PRICES);
  writeFileSync(
    join(folder, 'turnpike.yaml'),
    [
      'port: 0',
      `engines: { engine: { url: "${by.url}", kind: vllm } }`,
      'models: { sim: { engine: engine, aliases: [other-name], contextTokens: 1000000 } }',
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
    expect((await booked(second.id)).lane).toMatch(/^[0-9a-f]{12}$/);
    expect(await withLedger((ledger) => ledger.verify())).toEqual([]);
  });

  it('by an alias as by the name of its model', async () => {
    const { url } = await start('budgets: [{ tenant: local, model: other-name, period: total, usd: 1 }]');
    const answer = await post(url, { model: 'other-name', input: 'hello' });
    const { id, model } = (await answer.json()) as { id: string; model: string };
    expect({ status: answer.status, model }).toEqual({ status: 200, model: 'other-name' });
    const { rule, amount, ...record } = await booked(id);
    expect({ model: record.model, rule }).toEqual({ model: 'sim', rule: 'billed' });
    expect(amount).toBeGreaterThan(0);
    const { hold } = await withLedger(({ db }) => moneyStory(db, id));
    expect(hold).toMatchObject({ state: 'booked' });
  });

  it('a warm-up is a row of its own at its own price; what fails before an engine is asked is none', async () => {
    const { url } = await start('');
    const rows = () => withLedger(({ db }) => db.selectFrom('ledger_usage').select('outcome').execute());
    const before = (await rows()).length;
    const client = await SocketClient.connect(url);
    const warm = terminalOf(await client.create({ input: 'hello', generate: false })).response;
    expect(await booked(warm.id)).toMatchObject({
      amount: 0,
      parts: [{ purpose: 'warm_up', tokens: { input: warm.usage?.input_tokens, output: 0 } }],
    });
    const refused = await client.create({ input: 'x', previous_response_id: 'resp_unknown' });
    expect(refused.at(-1)?.type).toBe('error');
    client.close();
    expect(await rows()).toHaveLength(before + 1);
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

  it('that ends in the middle of a summary ends it there, and all that the engine gave is billed', async () => {
    const { url } = await start(`holdOutputTokens: 16, ${budget('0.00022')}`, quick);
    const client = await SocketClient.connect(url);
    const input = [{ role: 'user', content: 'hello' }, { type: 'compaction_trigger' }];
    const { id, status, error, usage } = terminalOf(await client.create({ input })).response;
    client.close();
    expect({ status, error }).toMatchObject({ status: 'failed', error: { code: 'insufficient_quota' } });
    const { parts } = await booked(id);
    const statement = await (await fetch(`${quick.url}/debug/usage.csv`)).text();
    const produced = Number(new RegExp(`${id}[^"]*",\\d+,(\\d+),`).exec(statement)?.[1]);
    expect(parts).toMatchObject([{ purpose: 'compaction', tokens: { output: produced } }]);
    expect(produced).toBeGreaterThan(0);
    expect(usage?.output_tokens).toBe(produced);
  });

  it('in shadow mode only says so', async () => {
    const { url, output } = await start(budget('0.0000001', ', shadow: true'));
    expect((await post(url, { input: 'hello' })).status).toBe(200);
    // The answer may be here before what the log says is.
    while (!output().includes('a budget in shadow mode would have refused')) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  });
});
