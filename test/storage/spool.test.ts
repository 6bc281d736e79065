import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { segmentsIn } from '@turnpike/append-log';
import type { ResponseNode } from '@turnpike/conversation';
import {
  Drainer,
  Spool,
  spooledIn,
  SpooledResponseStore,
  type SpoolOptions,
  type SqlResponseStore,
  type StoreSchema,
} from '@turnpike/storage';
import type { Kysely, KyselyPlugin } from 'kysely';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { answer, compaction, knowledge, loaded, makeChain, makeTurn, storeOn, user } from './conversation.js';
import { KINDS, rowsIn, TestDatabases } from './databases.js';

const NOTHING = { responses: 0, items: 0, artifacts: 0 };
const SECRET = 'marker-of-a-secret';
const MIB = 1024 * 1024;

/** What one process has: a spool before a database, which is up or down as the test says. */
class Process {
  readonly spool: Spool;
  readonly drainer: Drainer;
  readonly store: SpooledResponseStore;
  readonly rows: SqlResponseStore;
  readonly refused: string[] = [];
  readonly faults: string[] = [];
  isDown = false;
  /** Thrown by the next writes of the drainer. */
  failure: Error | undefined;

  constructor(
    readonly db: Kysely<StoreSchema>,
    root: string,
    options: Partial<SpoolOptions> = {},
  ) {
    this.spool = new Spool({ root, maxBytes: MIB, ...options });
    const target = storeOn(db);
    this.drainer = new Drainer({
      spool: this.spool,
      target: {
        write: (rows) => (this.failure === undefined ? target.write(rows) : Promise.reject(this.failure)),
        bury: (tenant, id) => target.bury(tenant, id),
      },
      onRefused: (id, _error, node) => {
        this.refused.push(id);
        if (node !== undefined) this.rows.isNotKept(node);
      },
      onFault: ({ kind }) => this.faults.push(kind),
    });
    this.rows = storeOn(db.withPlugin(this.#failing()));
    const trip = () => (this.isDown = true);
    const circuit = Object.defineProperty({ isDown: false, trip }, 'isDown', { get: () => this.isDown });
    this.store = new SpooledResponseStore(this.rows, { circuit, spool: this.spool, drainer: this.drainer });
  }

  /** Takes over what others left, and brings all of it. */
  async recover(): Promise<void> {
    this.isDown = false;
    await this.spool.adopt();
    await this.drainer.drain();
  }

  /** Leaves everything as a process does that was killed. */
  abandon(root: string): void {
    for (const name of readdirSync(root)) rmSync(join(root, name, 'lock'), { force: true });
  }

  #failing(): KyselyPlugin {
    return {
      transformQuery: ({ node }) => {
        if (this.isDown) throw new Error('the database is down');
        return node;
      },
      transformResult: ({ result }) => Promise.resolve(result),
    };
  }
}

describe.each(KINDS)('a spool before %s', (kind) => {
  let databases: TestDatabases;
  let db: Kysely<StoreSchema>;
  let root: string;
  let open: Process[];
  beforeAll(async () => {
    databases = await TestDatabases.start(kind);
    db = await databases.connect();
  });
  beforeEach(async () => {
    open = [];
    root = mkdtempSync(join(tmpdir(), 'turnpike-spool-'));
    await db.deleteFrom('responses').execute();
  });
  afterEach(async () => {
    for (const each of open) await each.spool.close();
    rmSync(root, { recursive: true, force: true });
  });
  afterAll(() => databases.stop());

  function start(options: Partial<SpoolOptions> = {}): Process {
    const made = new Process(db, root, options);
    open.push(made);
    return made;
  }
  /** A process whose database is down, with a chain that it has made meanwhile. */
  async function spooled(length: number): Promise<{ process: Process; nodes: ResponseNode[] }> {
    const process = start();
    process.isDown = true;
    const nodes = await makeChain(
      Array.from({ length }, (_, at) => ({
        input: [user(`question ${at}`)],
        output: [answer(`answer ${at}`)],
      })),
    );
    for (const node of nodes) await process.store.save(node);
    return { process, nodes };
  }
  const files = () =>
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.journal'))
      .map((entry) => join(entry.parentPath, entry.name));
  const last = (nodes: readonly ResponseNode[]) => nodes.at(-1) as ResponseNode;

  it('answers as the store would, for its tenant alone', async () => {
    const { process, nodes } = await spooled(1);
    const { node } = await makeTurn(last(nodes), {
      input: [{ ...user('mine'), id: 'msg_mine' }],
      output: [answer('so')],
    });
    await process.store.save(node);
    const [item] = node.input.map((each) => each.item);
    expect(await process.store.load('tenant', node.id)).toBe(node);
    const shown = { response: node.response, input: [item] };
    expect(await process.store.find('tenant', node.id)).toEqual(shown);
    expect(await process.store.findItems('tenant', ['msg_mine'])).toEqual(new Map([['msg_mine', item]]));
    await expect(process.store.findItems('other', ['msg_mine'])).rejects.toThrow('down');
    expect([await process.store.has('tenant', node.id), process.store.isOnlyHere('tenant', node.id)]).toEqual(
      [true, true],
    );
    // Another tenant's id is looked for in the database, as any unknown one.
    await expect(process.store.load('other', node.id)).rejects.toThrow('down');
    await expect(process.store.delete('other', node.id)).rejects.toThrow('down');
    expect(process.store.isOnlyHere('other', node.id)).toBe(false);
    await process.recover();
    expect(await storeOn(db).find('tenant', node.id)).toEqual(shown);
  });

  it('brings chains and forks into the database, once, and leaves no file behind', async () => {
    const { process, nodes } = await spooled(12);
    const { node: fork } = await makeTurn(nodes[3], { input: [user('elsewhere')] });
    await process.store.save(fork);
    expect(await rowsIn(db)).toEqual(NOTHING);
    expect((await spooledIn(root)).size).toBe(13);
    await process.recover();
    for (const node of [...nodes, fork])
      expect(knowledge(await loaded(storeOn(db), node))).toEqual(knowledge(node));
    const rows = await rowsIn(db);
    expect(rows.responses).toBe(13);
    await process.drainer.drain();
    expect([await rowsIn(db), files(), process.spool.size, process.spool.bytes]).toEqual([rows, [], 0, 0]);
    // And goes on with the next one.
    process.isDown = true;
    const { node: next } = await makeTurn(fork, { input: [user('again')] });
    await process.store.save(next);
    await process.recover();
    expect(knowledge(await loaded(storeOn(db), next))).toEqual(knowledge(next));
  });

  it('is read by its owner alone', async () => {
    await spooled(1);
    for (const file of files()) expect(statSync(file).mode & 0o077).toBe(0);
  });

  it('is drained by the next process when its own was killed', async () => {
    const { process, nodes } = await spooled(3);
    process.abandon(root);
    const heir = start();
    await heir.recover();
    for (const node of nodes) expect(knowledge(await loaded(storeOn(db), node))).toEqual(knowledge(node));
    expect(files()).toEqual([]);
  });

  it('that arrived without its process hearing of it changes nothing', async () => {
    const { process, nodes } = await spooled(3);
    await storeOn(db).save(nodes[1] as ResponseNode);
    cpSync(root, `${root}-copy`, { recursive: true });
    await process.recover();
    const before = await rowsIn(db);
    cpSync(`${root}-copy`, root, { recursive: true });
    rmSync(`${root}-copy`, { recursive: true });
    process.abandon(root);
    await start().recover();
    expect(await rowsIn(db)).toEqual(before);
    expect(before.responses).toBe(3);
  });

  it('waits with what comes behind something that waits', async () => {
    const { process, nodes } = await spooled(1);
    process.failure = new Error('not yet');
    process.isDown = false;
    const { node: next } = await makeTurn(last(nodes), { input: [user('next')] });
    await process.store.save(next);
    expect(await rowsIn(db)).toEqual(NOTHING);
    process.failure = undefined;
    await process.recover();
    expect(knowledge(await loaded(storeOn(db), next))).toEqual(knowledge(next));
  });

  it('is drained before a background response that continues what waits', async () => {
    const { process, nodes } = await spooled(2);
    process.isDown = false;
    const { node: next } = await makeTurn(last(nodes), { input: [user('next')] });
    expect(await process.store.saveIf(next, () => Promise.resolve(true))).toBe(true);
    expect(knowledge(await loaded(storeOn(db), next))).toEqual(knowledge(next));
  });

  describe('a response that is deleted while it waits', () => {
    it('never reaches the database, also when the process is killed', async () => {
      const { process, nodes } = await spooled(2);
      const { id } = last(nodes);
      expect(await process.store.delete('tenant', id)).toBe(true);
      expect(await process.store.delete('tenant', id)).toBe(false);
      expect(await process.store.find('tenant', id)).toBeUndefined();
      expect(await process.store.load('tenant', id)).toBeUndefined();
      expect(await process.store.findItems('tenant', [])).toEqual(new Map());
      expect([...(await spooledIn(root)).keys()]).toEqual([nodes[0]?.id]);
      process.abandon(root);
      await start().recover();
      expect((await db.selectFrom('responses').select('id').execute()).map((row) => row.id)).toEqual([
        nodes[0]?.id,
      ]);
      expect(files()).toEqual([]);
    });

    it('is deleted where it had arrived unheard', async () => {
      const { process, nodes } = await spooled(1);
      const node = last(nodes);
      await storeOn(db).save(node);
      await process.store.delete('tenant', node.id);
      await process.recover();
      expect(await rowsIn(db)).toEqual(NOTHING);
    });

    it('stays for those that continue it, unfound', async () => {
      const { process, nodes } = await spooled(3);
      await process.store.delete('tenant', nodes[1]?.id ?? '');
      await process.recover();
      expect(knowledge(await loaded(storeOn(db), last(nodes)))).toEqual(knowledge(last(nodes)));
      expect(await storeOn(db).find('tenant', nodes[1]?.id ?? '')).toBeUndefined();
      await storeOn(db).delete('tenant', last(nodes).id);
      expect((await rowsIn(db)).responses).toBe(1);
    });

    it('goes with those that continue it when they are deleted too', async () => {
      const { process, nodes } = await spooled(3);
      for (const at of [1, 2]) await process.store.delete('tenant', nodes[at]?.id ?? '');
      await process.recover();
      expect((await rowsIn(db)).responses).toBe(1);
    });
  });

  it('takes nothing when it is full: responses wait for the database again', async () => {
    const process = start({ maxBytes: 1 });
    process.isDown = true;
    const nodes = await makeChain([{ input: [user('a')] }, { input: [user('b')] }, { input: [user('c')] }]);
    await process.store.save(nodes[0] as ResponseNode);
    expect(process.spool.isFull).toBe(true);
    await expect(process.store.save(nodes[1] as ResponseNode)).rejects.toThrow('down');
    await process.recover();
    expect(process.spool.isFull).toBe(false);
    await process.store.save(last(nodes));
    expect(knowledge(await loaded(storeOn(db), last(nodes)))).toEqual(knowledge(last(nodes)));
  });

  it('has nothing of a store: false response that comes before', async () => {
    const process = start();
    process.isDown = true;
    const nodes = await makeChain([
      { input: [user(SECRET)], output: [answer(SECRET)], settings: { store: false } },
      { output: [compaction(SECRET), answer('so')] },
    ]);
    await process.store.save(last(nodes));
    expect(
      files()
        .map((file) => readFileSync(file, 'latin1'))
        .join(),
    ).not.toContain(SECRET);
    expect(JSON.stringify(await process.store.find('tenant', last(nodes).id))).not.toContain(SECRET);
    await process.recover();
    expect((await rowsIn(db)).responses).toBe(1);
  });

  it('says of a response that the database refuses, and brings the others', async () => {
    const { process, nodes } = await spooled(2);
    const refusal = new pg.DatabaseError('value out of range', 0, 'error');
    refusal.code = '22003';
    process.failure = refusal;
    await process.recover();
    expect(process.refused).toEqual(nodes.map(({ id }) => id));
    process.failure = undefined;
    // The next of the chain writes all of it.
    const { node: next } = await makeTurn(last(nodes), { input: [user('next')] });
    await process.store.save(next);
    expect(knowledge(await loaded(storeOn(db), next))).toEqual(knowledge(next));
  });
});

describe('a spool on the disk', () => {
  let databases: TestDatabases;
  beforeAll(async () => {
    databases = await TestDatabases.start('sqlite');
  });
  afterAll(() => databases.stop());

  /** Makes a spool of three responses, changes its one file, and drains what is left of it. */
  async function drained(change: (bytes: Buffer) => Buffer): Promise<{ arrived: number; faults: string[] }> {
    const root = mkdtempSync(join(tmpdir(), 'turnpike-spool-'));
    const db = await databases.connect();
    const dead = new Process(db, root);
    dead.isDown = true;
    for (const node of await makeChain([{}, { input: [user('한국어')] }, {}])) await dead.store.save(node);
    await dead.spool.close();
    const [folder = ''] = readdirSync(root);
    const [segment = ''] = segmentsIn(join(root, folder));
    const path = join(root, folder, segment);
    writeFileSync(path, change(readFileSync(path)));
    const heir = new Process(db, root);
    await heir.recover();
    await heir.spool.close();
    rmSync(root, { recursive: true });
    return { arrived: (await rowsIn(db)).responses, faults: heir.faults };
  }

  it('may end in the middle of a record', async () => {
    for (const cut of [1, 2, 100, 400])
      expect(await drained((bytes) => bytes.subarray(0, -cut))).toEqual({ arrived: 2, faults: [] });
  });

  it('gives no record that is not as it was written', async () => {
    const damage = (bytes: Buffer) => Buffer.from(bytes.toString().replace('"depth":1', '"depth":2'));
    expect(await drained(damage)).toEqual({ arrived: 2, faults: ['damaged', 'gap'] });
  });
});
