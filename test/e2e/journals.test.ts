import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { segmentsIn } from '@turnpike/append-log';
import { Ledger, reconcile } from '@turnpike/ledger';
import { dayOf, Journal, pendingIn } from '@turnpike/metering';
import { openDatabase } from '@turnpike/storage';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { usageRecord } from '../ledger/records.js';
import { App } from './platform.js';
import { SocketClient, terminalOf } from './socket-client.js';

let engine: App;
let folder: string;
let journals: string;
let running: App[];
beforeAll(async () => {
  const pace = ['--tps', '200', '--ttft-ms', '0', '--prefill-us-per-token', '0'];
  engine = await App.start('engine', ['--port', '0', '--model', 'sim', '--context', '1000000', ...pace]);
});
afterAll(() => engine.stop());
beforeEach(() => {
  running = [];
  folder = mkdtempSync(join(tmpdir(), 'turnpike-journals-'));
  journals = join(folder, 'data/journal');
  writeFileSync(
    join(folder, 'prices.yaml'),
    'versions: [{ version: test, from: "2026-01-01", models: { sim: { input: 1, output: 2 } } }]',
  );
  writeFileSync(
    join(folder, 'turnpike.yaml'),
    [
      'port: 0',
      `engines: { engine: { url: "${engine.url}", kind: vllm } }`,
      'models: { sim: { engine: engine, contextTokens: 1000000 } }',
      'billing: { prices: prices.yaml, progressTokens: 8 }',
    ].join('\n'),
  );
});
afterEach(async () => {
  await Promise.all(running.map((app) => app.stop()));
  rmSync(folder, { recursive: true, force: true });
});

/** One more gateway on the same journals, store and ledger, in a time zone of its own. */
async function start(TZ = 'UTC'): Promise<App> {
  const app = await App.start('gateway', ['--config', 'turnpike.yaml'], { TZ }, folder);
  running.push(app);
  return app;
}

async function kill(app: App): Promise<void> {
  app.signal('SIGKILL');
  await app.ended();
}

async function withLedger<T>(task: (ledger: Ledger) => Promise<T>): Promise<T> {
  const db = await openDatabase({ kind: 'sqlite', path: join(folder, 'data/turnpike.db') }, () => undefined);
  try {
    return await task(await Ledger.open(db, 'sqlite'));
  } finally {
    await db.destroy();
  }
}

const rows = () =>
  withLedger(({ db }) => db.selectFrom('ledger_usage').selectAll().orderBy('response_id').execute());

/** The row of a response, once it is booked. */
async function booked(id: string) {
  for (;;) {
    const row = (await rows()).find(({ response_id }) => response_id === id);
    if (row !== undefined) return row;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function leftOnly(...names: readonly string[]): Promise<void> {
  while (readdirSync(journals).length > names.length) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(readdirSync(journals).sort()).toEqual([...names].sort());
}

/** The chaos run has the same at random, with Redis and Postgres; here it is clear who takes over what, and when. */
describe('two gateways on one folder of journals', () => {
  /** Begins a turn, and waits until it has been written down several times. */
  async function begin(client: SocketClient, tokens: number): Promise<string> {
    const from = client.events.length;
    client.send({ type: 'response.create', model: 'sim', input: `[sim tokens=${tokens}] hello` });
    const mine = () => client.events.slice(from);
    await client.until(() => mine().filter(({ type }) => type.endsWith('.delta')).length > 30);
    return mine()[0]?.response?.id ?? '';
  }

  it('each write their own, and whoever lives or comes next takes over what a killed one left, once', async () => {
    // Wherever this runs, and whenever, it is another day in one of these places than in UTC.
    const first = await start('Pacific/Kiritimati');
    const [ofFirst = ''] = readdirSync(journals);
    const second = await start('Etc/GMT+12');
    const ofSecond = readdirSync(journals).find((name) => name !== ofFirst) ?? '';
    const [one, two] = await Promise.all([SocketClient.connect(first.url), SocketClient.connect(second.url)]);
    const told = new Map<string, { input: number; output: number }>();
    const turn = async (client: SocketClient, input: string, previous?: string) => {
      const body = { input: `[sim tokens=5] ${input}`, ...(previous && { previous_response_id: previous }) };
      const { id, usage } = terminalOf(await client.create(body)).response;
      told.set(id, { input: usage?.input_tokens ?? 0, output: usage?.output_tokens ?? 0 });
      return id;
    };
    const [a] = await Promise.all([turn(one, 'a'), turn(two, 'b')]);
    // A chain goes on at the other gateway.
    await Promise.all([turn(two, 'c', a), turn(one, 'd')]);

    // The second dies in the middle of a turn; the first takes over in the middle of one of its own.
    const [survives, dies] = await Promise.all([begin(one, 400), begin(two, 2_000)]);
    await kill(second);
    await leftOnly(ofFirst);
    expect(await booked(dies)).toMatchObject({ outcome: 'lost', partial: 1, journal: ofSecond });
    await one.until(() =>
      one.events.some(({ type, response }) => type.endsWith('.completed') && response?.id === survives),
    );
    expect(await booked(survives)).toMatchObject({ outcome: 'completed', partial: 0, journal: ofFirst });

    // Then the first does, with nobody there; what comes next settles it.
    const last = await begin(one, 2_000);
    await kill(first);
    const third = await start();
    expect(await booked(last)).toMatchObject({ outcome: 'lost', partial: 1, journal: ofFirst });
    const again = await SocketClient.connect(third.url);
    const after = await turn(again, 'e', a);
    again.close();
    await booked(after);
    const [ofThird = ''] = readdirSync(journals).filter((name) => name !== ofFirst);
    await leftOnly(ofThird);

    const all = await rows();
    expect(all.map((row) => row.response_id)).toEqual([...told.keys(), survives, dies, last].sort());
    for (const [id, usage] of told) {
      const row = all.find(({ response_id }) => response_id === id);
      expect(row).toMatchObject({ outcome: 'completed', ...usage });
    }
    // What was lost is what was written down last: less than an interval short of what its gateway had counted.
    for (const { outcome, output } of all) if (outcome === 'lost') expect(output).toBeGreaterThanOrEqual(24);
    expect(all.map(({ day }) => day)).toEqual(all.map(({ admitted_at }) => dayOf(admitted_at)));
    const { differences, faults } = await withLedger((ledger) =>
      reconcile(ledger, async () => ({
        journal: await pendingIn(journals),
        queue: new Set(),
        spool: new Map(),
      })),
    );
    expect({ differences, faults }).toEqual({ differences: [], faults: [] });
    const entries = await withLedger(({ db }) =>
      db.selectFrom('ledger_transactions').select('response_id').where('kind', '=', 'usage').execute(),
    );
    expect(entries.map(({ response_id }) => response_id).sort()).toEqual(all.map((row) => row.response_id));
  });
});

describe('a gateway that finds damaged journals', () => {
  const name = (n: number) => `2026010100000${n}-00000000000a`;

  /** A journal as a gateway leaves it: turns that were settled, and one that was not. */
  async function leave(n: number, ...settled: readonly string[]): Promise<string> {
    const journal = new Journal(journals, name(n), { maxBytes: 1e9 });
    const of = (id: string) => usageRecord(id, { model: 'sim', tenant: 'local', key: 'open' });
    const admit = (id: string) => {
      const { parts, ...admission } = of(id);
      journal.admit({ admission, parts });
    };
    for (const id of settled) {
      admit(id);
      journal.settle(of(id));
    }
    admit(`open-${n}`);
    await journal.close();
    return journal.folder;
  }

  it('starts, says what is not as it was written, and settles everything else', async () => {
    const flipped = await leave(1, 'a', 'b', 'c');
    const torn = await leave(2, 'd');
    const behind = await leave(3, 'e');
    const [segment = ''] = segmentsIn(flipped);
    const bytes = readFileSync(join(flipped, segment));
    const at = bytes.indexOf('"completed"', bytes.indexOf('settle 4')) + 3;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(join(flipped, segment), bytes);
    const hit = bytes.toString('latin1').split('\n')[3]?.length;
    appendFileSync(join(torn, segment), 'c33067ea settle 4 {"record":{"id":"open-2"');
    // It died as it began its next segment.
    writeFileSync(join(behind, '0000000000000004.journal'), '');
    mkdirSync(join(journals, name(4)));
    writeFileSync(join(journals, name(4), segment), '');
    writeFileSync(join(flipped, 'notes.txt'), 'x');
    writeFileSync(join(journals, 'notes.txt'), 'x');

    const gateway = await start();
    for (const id of ['a', 'b', 'c', 'd', 'e', 'open-1', 'open-2', 'open-3']) await booked(id);
    expect((await rows()).map(({ response_id, outcome }) => [response_id, outcome])).toEqual([
      ['a', 'completed'],
      // Its bill is what was hit: it is settled from its admission.
      ['b', 'lost'],
      ['c', 'completed'],
      ['d', 'completed'],
      ['e', 'completed'],
      ['open-1', 'lost'],
      ['open-2', 'lost'],
      ['open-3', 'lost'],
    ]);
    const client = await SocketClient.connect(gateway.url);
    const { id } = terminalOf(await client.create({ input: '[sim tokens=5] hello' })).response;
    client.close();
    expect(await booked(id)).toMatchObject({ outcome: 'completed' });
    const own = (await booked(id)).journal;
    await leftOnly(own, 'notes.txt');

    const faults = () =>
      gateway
        .output()
        .split('\n')
        .slice(0, -1)
        .filter((line) => line.includes('the journal is not as it was written'));
    // What is on the disk may be seen before what the log says is.
    while (faults().length < 3) await new Promise((resolve) => setTimeout(resolve, 10));
    const said = faults()
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .map(({ level, journal, segment, fault, detail }) => ({ level, journal, segment, fault, detail }));
    expect(said).toEqual([
      { level: 50, journal: name(1), segment, fault: 'damaged', detail: `a line of ${hit} bytes` },
      { level: 50, journal: name(1), segment, fault: 'gap', detail: 'record 4 is missing' },
      { level: 40, journal: name(2), segment, fault: 'torn', detail: undefined },
    ]);
    expect(gateway.output()).toContain('a turn was left behind by its gateway, and is settled');
    expect(await withLedger((ledger) => ledger.verify())).toEqual([]);
  });
});
