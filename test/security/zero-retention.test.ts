import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { o200kHarmony } from '@turnpike/formats';
import { loadSealingKeys, Sealer } from '@turnpike/sealing';
import { openDatabase, type DatabaseTarget, type StoreSchema } from '@turnpike/storage';
import type { Kysely } from 'kysely';
import { startPostgres, type PostgresService } from '../e2e/services.js';
import { filesBelow, find, holds, opened, tablesOf, writableFilesOf, type Straw } from './haystack.js';
import { Markers, needlesOf } from './markers.js';
import { RetentionPlatform, TENANT } from './retention-platform.js';
import { faults } from './workload/faulty-engine.js';
import { addresses, badBodies, badFrames } from './workload/refusals.js';
import { compaction, images, items, settings, streams } from './workload/requests.js';
import { user, type Run } from './workload/run.js';
import { successors } from './workload/successors.js';
import { chains, resumed, unfinished } from './workload/sockets.js';

const SCENES = [
  settings,
  items,
  images,
  streams,
  compaction,
  chains,
  resumed,
  badBodies,
  badFrames,
  addresses,
  faults,
  unfinished,
];

/** Everything that a client can do, up to the moment at which the server ends. */
async function everything(run: Run): Promise<void> {
  for (const scene of SCENES) await scene(run);
}

/** What the log says of a turn. */
function lineOf(output: string, responseId: string): string | undefined {
  return output.split('\n').find((line) => line.includes(responseId));
}

describe.each(['sqlite', 'postgres'] as const)('with the store in %s', (kind) => {
  let platform: RetentionPlatform;
  let server: PostgresService | undefined;
  let target: DatabaseTarget;

  beforeAll(async () => {
    server = kind === 'postgres' ? await startPostgres({ own: true }) : undefined;
    const url = await server?.database();
    platform = new RetentionPlatform(url === undefined ? '' : `store: { kind: postgres, url: "${url}" }`);
    target =
      url === undefined
        ? { kind: 'sqlite', path: platform.path('work/data/turnpike.db') }
        : { kind: 'postgres', url };
  });
  afterAll(async () => {
    await platform.remove();
    await server?.remove();
  });

  async function withDatabase<T>(action: (db: Kysely<StoreSchema>) => Promise<T>): Promise<T> {
    const db = await openDatabase(target, () => undefined);
    return action(db).finally(() => db.destroy());
  }
  const tables = () => withDatabase(tablesOf);
  /** All that outlives the processes. Files first: reading the tables of SQLite changes them. */
  const remains = async (): Promise<Straw[]> => {
    const straws = [
      ...filesBelow(platform.folder),
      ...(server?.folder === undefined ? [] : filesBelow(server.folder)),
      ...(await tables()),
      { name: 'output', bytes: Buffer.from(platform.output) },
    ];
    // The key that opens what is sealed is among the files.
    const sealer = new Sealer(loadSealingKeys(platform.path('work/data/sealing.key')));
    return [...straws, ...opened(straws, (text) => sealer.open(TENANT, text))];
  };

  // One is enough where the gateway itself writes no file.
  it.each(kind === 'sqlite' ? (['SIGTERM', 'SIGKILL'] as const) : (['SIGKILL'] as const))(
    'nothing is left of store: false behind a full run that ends with %s',
    async (signal) => {
      const markers = new Markers();
      const { gateway, run } = await platform.start(markers, false);
      await everything(run);
      for (const id of run.replays) expect(lineOf(platform.output, id)).toContain('"items_validated":1,');
      const open = writableFilesOf(gateway.pid);
      expect(open.filter((path) => !path.startsWith(platform.folder))).toEqual([]);
      gateway.signal(signal);
      await gateway.ended();
      await platform.stop();
      expect(find(markers, await remains())).toEqual([]);
    },
  );

  it('all of it is found of the same run with store: true, and none of it in a log', async () => {
    const markers = new Markers();
    const { gateway, run } = await platform.start(markers, true);
    await everything(run);
    gateway.signal('SIGKILL');
    await gateway.ended();
    await platform.stop();
    expect(find(markers, [{ name: 'output', bytes: Buffer.from(platform.output) }])).toEqual([]);
    const stored = await tables();
    const isStored = (place: string) =>
      needlesOf(markers.textOf(place)).some((needle) => holds(stored, needle));
    expect(markers.places('kept').filter((place) => !isStored(place))).toEqual([]);
    expect(markers.places('passing').filter(isStored)).toEqual([]);
    const forms = find(markers, stored).map(({ form }) => form);
    for (const form of ['UTF-8', 'token ids, 32 bits each', expect.stringMatching(/^base64/)])
      expect(forms).toContainEqual(form);
  });

  it('of a parent with store: false nothing is kept with the responses that are stored behind it', async () => {
    const markers = new Markers();
    const { gateway, run } = await platform.start(markers, true);
    await successors(run);
    await gateway.stop();
    await platform.stop();
    const straws = await remains();
    const isFound = (place: string) =>
      needlesOf(markers.textOf(place)).some((needle) => holds(straws, needle));
    expect(markers.places('kept').filter((place) => !isFound(place))).toEqual([]);
    expect(markers.places('passing').filter(isFound)).toEqual([]);
  });

  // Files have no spool before them.
  if (kind === 'postgres') {
    it('while it is down, what waits in the spool has nothing of store: false', async () => {
      const markers = new Markers();
      const { gateway, run } = await platform.start(markers, false);
      await server?.kill();
      for (const scene of [streams, chains]) await scene(run);
      const others = new Markers();
      await run.complete({ store: true, input: [user(others.kept('waits'))] });
      gateway.signal('SIGKILL');
      await gateway.ended();
      await platform.stop();
      const straws = filesBelow(platform.folder);
      // It was there, and is looked through.
      const spool = straws.filter(({ name }) => name.startsWith(platform.path('work/data/spool/')));
      expect(find(others, spool)).not.toEqual([]);
      const output = { name: 'output', bytes: Buffer.from(platform.output) };
      expect(find(markers, [...straws, output])).toEqual([]);
      expect(find(others, [output])).toEqual([]);
      await server?.start();
    });
  }

  it('nothing of what the database refuses is logged', async () => {
    const markers = new Markers();
    const { run } = await platform.start(markers, true);
    const first = await run.complete({ input: [user(run.kept('before'))] });
    await withDatabase(async ({ schema }) => {
      for (const table of ['background_events', 'artifacts', 'conversation_items'])
        await schema.dropTable(table).execute();
    });
    const input = [user(run.passing('refused'))];
    await run.complete({ input, previous_response_id: first.id });
    await run.post({ input, background: true, stream: true });
    const { status } = await run.post({ items: input }, { path: '/v1/conversations' });
    expect(status).toBe(500);
    await platform.stop();
    expect(platform.output).toContain('store failed');
    expect(find(markers, [{ name: 'output', bytes: Buffer.from(platform.output) }])).toEqual([]);
  });
});

it('a search finds a marker in every form, whatever stands around it', () => {
  const markers = new Markers();
  const text = markers.kept('somewhere');
  const tokens = o200kHarmony().encode(`before${text} after`);
  const bytes: [string, Buffer][] = [
    ['UTF-8', Buffer.from(`before ${text}`)],
    ['UTF-16LE', Buffer.from(`before ${text}`, 'utf16le')],
    ['hex', Buffer.from(Buffer.from(text).toString('hex'))],
    ['HEX', Buffer.from(Buffer.from(text).toString('hex').toUpperCase())],
    ...[0, 1, 2].map((before): [string, Buffer] => [
      // Behind `mk`, which is no part of what is looked for.
      `base64 behind ${(before + 2) % 3} bytes`,
      Buffer.from(Buffer.from(`${'x'.repeat(before)}${text} after`).toString('base64url')),
    ]),
    ['token ids, 32 bits each', Buffer.from(tokens.buffer)],
    ['token ids, as JSON', Buffer.from(JSON.stringify([...tokens]))],
  ];
  const forms = bytes.flatMap(([name, each]) => find(markers, [{ name, bytes: each }]));
  expect(forms.map(({ name, form }) => [name, form])).toEqual(bytes.map(([name]) => [name, name]));
});
