import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { App, FAST, keysOf } from './platform.js';
import { startPostgres, type PostgresService } from './services.js';
import { SocketClient, terminalOf, textOf } from './socket-client.js';

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown> & { id: string; status: string; output: { id: string }[] };
}

let engine: App;
let server: PostgresService;
beforeAll(async () => {
  [engine, server] = await Promise.all([
    App.start('engine', ['--port', '0', '--model', 'sim', '--context', '1000000', ...FAST]),
    startPostgres({ own: true }),
  ]);
});
afterAll(async () => {
  await engine.stop();
  await server.remove();
});

describe('a database that goes away under a gateway', () => {
  let folder: string;
  let url: string;
  let gateway: App;
  let running: App[];
  beforeEach(async () => {
    running = [];
    folder = mkdtempSync(join(tmpdir(), 'turnpike-outage-'));
    url = await server.database();
    gateway = await start();
  });
  afterEach(async () => {
    server.resume();
    await server.start();
    for (const app of running) await app.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A gateway on the database; those of a test share a working folder. */
  async function start(): Promise<App> {
    const config = join(folder, 'turnpike.yaml');
    const prices = join(folder, 'prices.yaml');
    const models = '{ sim: { input: 1, output: 1 } }';
    writeFileSync(prices, `versions: [{ version: test, from: "2026-01-01", models: ${models} }]`);
    const lines = [
      'port: 0',
      `engines: { engine: { url: "${engine.url}", kind: vllm, structuredOutputs: false } }`,
      'models: { sim: { engine: engine, contextTokens: 1000000 } }',
      `store: { kind: postgres, url: "${url}" }`,
      `billing: { prices: "${prices}", budgets: [{ tenant: b, period: day, usd: 5 }] }`,
      ...keysOf('a', 'b'),
    ];
    writeFileSync(config, lines.join('\n'));
    const app = await App.start('gateway', ['--config', config], {}, folder);
    running.push(app);
    return app;
  }

  async function call(path: string, body?: object, { method = '', key = 'a', app = gateway } = {}) {
    const answer = await fetch(`${app.url}/v1/${path}`, {
      method: method || (body === undefined ? 'GET' : 'POST'),
      headers: { authorization: `Bearer ${key}` },
      ...(body !== undefined && { body: JSON.stringify({ model: 'sim', ...body }) }),
    });
    return { status: answer.status, body: await answer.json() } as Answer;
  }
  const socket = (app = gateway) =>
    SocketClient.connect(app.url, '/v1/responses', { authorization: 'Bearer a' });

  /** Whether the database answers a new client. */
  async function isUp(): Promise<boolean> {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 300 });
    client.on('error', () => undefined);
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    );
  }
  async function rows(query: string): Promise<string[]> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows: found } = await client.query<{ value: string }>(query);
    await client.end();
    return found.map(({ value }) => value);
  }
  const stored = () => rows('select id as value from responses');
  /** Waits until nothing is left in the folder of the spool. */
  async function drained(): Promise<void> {
    const isLeft = () =>
      readdirSync(join(folder, 'data/spool'), { recursive: true }).some((name) =>
        String(name).endsWith('.journal'),
      );
    while (isLeft()) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  const unavailable = { status: 503, body: { error: { code: 'store_unavailable' } } };

  describe.each([
    ['is killed', () => server.kill(), () => server.start()],
    ['hangs', () => Promise.resolve(server.pause()), () => Promise.resolve(server.resume())],
  ] as const)('and %s', (_how, goAway, comeBack) => {
    it('holds up no answer, is not missed, and has everything once it is back', async () => {
      const client = await socket();
      const before = terminalOf(await client.create({ input: 'a' })).response;
      await goAway();

      const events = await client.create({ input: 'b', previous_response_id: before.id });
      expect(events.at(-1)?.type).toBe('response.completed');
      const first = terminalOf(events).response;
      const second = await call('responses', {
        input: [{ role: 'user', content: 'c', id: 'msg_mine' }],
        previous_response_id: first.id,
      });
      expect(second).toMatchObject({ status: 200, body: { status: 'completed' } });
      expect(await call(`responses/${second.body.id}`)).toEqual(second);
      const items = await call(`responses/${second.body.id}/input_items`);
      expect(items.body['data']).toMatchObject([{ id: 'msg_mine' }]);
      const reference = { type: 'item_reference', id: second.body.output[0]?.id };
      const third = await call('responses', { input: [reference, { role: 'user', content: 'd' }] });
      expect(third.status).toBe(200);

      // To others it is what any unknown id is.
      for (const id of [second.body.id, 'resp_unknown']) {
        expect(await call(`responses/${id}`, undefined, { key: 'b' })).toMatchObject(unavailable);
      }
      const gone = await call(`responses/${third.body.id}`, undefined, { method: 'DELETE' });
      expect(gone).toMatchObject({ status: 200, body: { deleted: true } });
      expect((await call(`responses/${third.body.id}`)).status).toBe(404);
      expect((await call('responses', { input: 'x', previous_response_id: third.body.id })).status).toBe(400);

      // What cannot be had without it says so.
      expect(await call('responses', { input: 'x', background: true })).toMatchObject(unavailable);
      expect(await call('responses', { input: 'x', conversation: 'conv_any' })).toMatchObject(unavailable);
      expect(await call('conversations', {})).toMatchObject(unavailable);
      // A budget cannot be looked at.
      expect(await call('responses', { input: 'x', store: false }, { key: 'b' })).toMatchObject({
        status: 503,
        body: { error: { code: 'metering_unavailable' } },
      });
      const [refused] = await client.create({ input: 'x', previous_response_id: 'resp_unknown' });
      expect(refused).toMatchObject({ type: 'error', status: 503, error: { code: 'store_unavailable' } });
      expect(await isUp()).toBe(false);

      await comeBack();
      await drained();
      expect((await stored()).sort()).toEqual([before.id, first.id, second.body.id].sort());
      const inputs = await rows(
        `select item_id as value from items where response_id = '${second.body.id}' and is_output = 0`,
      );
      expect(inputs).toEqual(['msg_mine']);
      expect(await call(`responses/${second.body.id}`)).toEqual(second);
      // Another gateway goes on with it, and knows all of it.
      const elsewhere = await socket(await start());
      const next = await elsewhere.create({ input: 'e', previous_response_id: second.body.id });
      expect(textOf(next)).toContain('message 4');
      expect(gateway.output()).not.toContain('store failed');
      for (const each of [client, elsewhere]) each.close();
    });
  });

  it('finds what a gateway had in its spool when it was killed, the moment the next one is ready', async () => {
    const client = await socket();
    const before = terminalOf(await client.create({ input: 'a' })).response;
    await server.kill();
    const kept = terminalOf(await client.create({ input: 'b', previous_response_id: before.id })).response;
    const deleted = terminalOf(await client.create({ input: 'c', previous_response_id: kept.id })).response;
    await call(`responses/${deleted.id}`, undefined, { method: 'DELETE' });
    gateway.signal('SIGKILL');
    await gateway.ended();
    await server.start();

    expect(await stored()).toEqual([before.id]);
    const next = await start();
    expect((await stored()).sort()).toEqual([before.id, kept.id].sort());
    expect((await call(`responses/${kept.id}`, undefined, { app: next })).body).toEqual(kept);
    expect((await call(`responses/${deleted.id}`, undefined, { app: next })).status).toBe(404);
    await drained();
    const behind = { input: 'd', previous_response_id: kept.id };
    expect((await call('responses', behind, { app: next })).body.status).toBe('completed');
  });

  it('keeps a gateway from nothing when that stops: the rest is for the next one', async () => {
    const client = await socket();
    server.pause();
    const { id } = terminalOf(await client.create({ input: 'a' })).response;
    client.close();
    gateway.signal('SIGTERM');
    expect(await gateway.ended()).toBe(0);
    server.resume();
    await start();
    expect(await stored()).toEqual([id]);
  });
});
