import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { openDatabase, type DatabaseTarget } from '@turnpike/storage';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres, type PostgresService } from './services.js';
import { accept, call, cancel, EventStream, poll } from './background-client.js';
import { App, FAST, startGateway } from './platform.js';
import { Recorder } from './recorder.js';

type Gateway = Awaited<ReturnType<typeof startGateway>>;

/** An answer that goes on for as long as a test does, after a few tokens. */
const ENDLESS = 'go on [sim stall=600000 tokens=40]';
const RESTARTED = { code: 'server_error', message: 'The server restarted before the response was complete.' };

let engine: App;
let recorder: Recorder;
let server: PostgresService;
beforeAll(async () => {
  [engine, server] = await Promise.all([
    App.start('engine', ['--port', '0', '--model', 'sim', '--context', '1000000', ...FAST]),
    startPostgres(),
  ]);
  recorder = await Recorder.start(engine.url);
});
afterAll(async () => {
  await recorder.stop();
  await engine.stop();
  await server.remove();
});

describe.each(['sqlite', 'postgres'] as const)('background responses of gateways on one %s', (kind) => {
  let folder: string;
  let target: DatabaseTarget;
  let running: Gateway[];
  beforeEach(async () => {
    running = [];
    recorder.prompts.length = 0;
    folder = mkdtempSync(join(tmpdir(), 'turnpike-background-'));
    target =
      kind === 'sqlite'
        ? { kind, path: join(folder, 'turnpike.db') }
        : { kind, url: await server.database() };
  });
  afterEach(async () => {
    for (const app of running) {
      if (app.running) app.signal('SIGKILL');
      await app.ended();
      app.cleanUp();
    }
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(...extra: string[]): Promise<Gateway> {
    const place = target.kind === 'sqlite' ? `path: "${target.path}"` : `url: "${target.url}"`;
    const app = await startGateway(recorder.url, [`store: { kind: ${kind}, ${place} }`, ...extra]);
    running.push(app);
    return app;
  }

  async function kill(app: Gateway): Promise<void> {
    app.signal('SIGKILL');
    await app.ended();
  }

  /** What otherwise takes as long as a lease. */
  async function letLeasesRunOut(): Promise<void> {
    const db = await openDatabase(target, () => undefined);
    await db.updateTable('background_jobs').set({ lease_until: 1 }).where('runner', 'is not', null).execute();
    await db.destroy();
  }

  it('lose nothing by kill -9: what ran has failed, what waited is made, and what was seen stays', async () => {
    const before = await start('limits: { backgroundRunning: 1 }');
    const stream = await EventStream.open(`${before.url}/v1/responses`, { background: true, input: ENDLESS });
    await stream.until((events) => events.some(({ type }) => type.endsWith('.delta')));
    const id = stream.events[0]?.response?.id ?? '';
    const waiting = await accept(before.url, 'next please', { metadata: { k: 'v' } });
    await kill(before);
    expect(await stream.ended).toBe(false);
    const seen = stream.events;

    // Its gateway could be alive for as long as its lease.
    await letLeasesRunOut();
    const after = await start();
    const made = await poll(after.url, waiting.id);
    expect(made).toMatchObject({
      status: 'completed',
      metadata: { k: 'v' },
      created_at: waiting['created_at'],
    });
    const events = await (await EventStream.again(after.url, id)).all();
    expect(events.slice(0, -1)).toEqual(seen);
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      sequence_number: seen.length,
      response: { id, status: 'failed', error: RESTARTED },
    });
    expect(await poll(after.url, id)).toMatchObject({ status: 'failed', error: RESTARTED });
    // Each was given to the engine once.
    expect(recorder.prompts).toHaveLength(2);
  });

  // What the database has to do with it is the same as above.
  if (kind === 'sqlite')
    it('are finished in the time to drain, or failed at its end; what waits is left to the next', async () => {
      const before = await start('limits: { backgroundRunning: 2, drainMs: 2000 }');
      const long = await accept(before.url, ENDLESS);
      const short = await accept(before.url, 'x [sim stall=300 tokens=40]');
      for (const { id } of [long, short]) await poll(before.url, id, 'in_progress');
      const waiting = await accept(before.url, 'next please');
      const stream = await EventStream.open(`${before.url}/v1/responses`, {
        background: true,
        input: 'and me',
      });
      await stream.until((events) => events.length === 2);
      before.signal('SIGTERM');
      // The stream of what is not made here is ended; it can be had elsewhere.
      const first = await stream.all();
      expect(await before.ended()).toBe(0);
      expect(before.output()).not.toContain('"level":50');

      const after = await start();
      expect((await call(`${after.url}/v1/responses/${long.id}`)).body).toMatchObject({
        status: 'failed',
        error: RESTARTED,
      });
      expect((await call(`${after.url}/v1/responses/${short.id}`)).body.status).toBe('completed');
      expect((await poll(after.url, waiting.id)).status).toBe('completed');
      const streamed = first[0]?.response?.id ?? '';
      const rest = await (await EventStream.again(after.url, streamed, 1)).all();
      expect(rest.map(({ sequence_number }) => sequence_number)).toEqual(rest.map((_, index) => index + 2));
      expect(rest.at(-1)?.type).toBe('response.completed');
      expect(recorder.prompts).toHaveLength(4);
    });

  it('are each made once, by any of them, and asked for, followed and cancelled at all of them', async () => {
    const gateways = await Promise.all([start(), start()]);
    const at = (index: number) => (index % 2 === 0 ? gateways[0] : gateways[1]).url;
    const accepted = await Promise.all(
      Array.from({ length: 24 }, (_, index) => accept(at(index), `number ${index}`)),
    );
    const made = await Promise.all(accepted.map(({ id }, index) => poll(at(index + 1), id)));
    expect(new Set(made.map(({ status }) => status))).toEqual(new Set(['completed']));
    for (const [index, { output }] of made.entries()) {
      expect(JSON.stringify(output)).toContain(`number ${index}`);
    }
    expect(recorder.prompts).toHaveLength(24);

    // And followed and cancelled at another than the one that makes them, whichever that is.
    const [one, other] = gateways;
    const streams = await Promise.all(
      Array.from({ length: 3 }, () =>
        EventStream.open(`${one.url}/v1/responses`, { background: true, input: ENDLESS }),
      ),
    );
    for (const stream of streams) {
      await stream.until((events) => events.some(({ type }) => type.endsWith('.delta')));
      const id = stream.events[0]?.response?.id ?? '';
      const elsewhere = await EventStream.again(other.url, id);
      expect(await cancel(other.url, id)).toMatchObject({ status: 200, body: { status: 'cancelled' } });
      const all = await elsewhere.all();
      expect(all.at(-1)).toMatchObject({ type: 'response.failed', response: { status: 'cancelled' } });
      expect(await stream.all()).toEqual(all);
    }
    const state = (await (await fetch(`${engine.url}/debug/state`)).json()) as { running: number };
    expect(state.running).toBe(0);
  });
});
