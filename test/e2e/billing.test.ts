import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { UsageRecord } from '@turnpike/metering';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Books } from './books.js';
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
let books: Books;
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
  books = new Books(folder);
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
      const record = await books.booked(id);
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
    expect((await books.booked(second.id)).lane).toMatch(/^[0-9a-f]{12}$/);
    expect(await books.read((ledger) => ledger.verify())).toEqual([]);
  });

  it('by an alias as by the name of its model', async () => {
    const { url } = await start('budgets: [{ tenant: local, model: other-name, period: total, usd: 1 }]');
    const answer = await post(url, { model: 'other-name', input: 'hello' });
    const { id, model } = (await answer.json()) as { id: string; model: string };
    expect({ status: answer.status, model }).toEqual({ status: 200, model: 'other-name' });
    const { rule, amount, ...record } = await books.booked(id);
    expect({ model: record.model, rule }).toEqual({ model: 'sim', rule: 'billed' });
    expect(amount).toBeGreaterThan(0);
    const { hold } = await books.story(id);
    expect(hold).toMatchObject({ state: 'booked' });
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
    const text = books.journal();
    expect(text).toContain(id);
    expect(text).not.toContain('MARKER');
    await restart();
    const record = await books.booked(id);
    expect(record).toMatchObject({ outcome: 'lost', partial: true, reason: 'gateway_lost' });
    expect(answerOf(record)?.output).toBeGreaterThanOrEqual(16);
    expect((await books.booked(done.id)).outcome).toBe('completed');
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
      books.read(async ({ db }) => {
        const query = db.selectFrom('ledger_spend').selectAll().where('time_window', '=', 'total');
        return (await query.execute()).filter(({ subject }) => subject.startsWith('["tenant"'))[0];
      });
    for (const each of by(200)) await books.booked(((await each.json()) as { id: string }).id);
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
    const record = await books.booked(response.id);
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
    const { parts } = await books.booked(id);
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
