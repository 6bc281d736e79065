import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ResponseNode } from '@turnpike/conversation';
import type { SqlResponseStore, StoreSchema } from '@turnpike/storage';
import type { Kysely } from 'kysely';
import {
  answer,
  compaction,
  knowledge,
  loaded,
  makeChain,
  makeTurn,
  storeOn,
  thought,
  user,
} from './conversation.js';
import { KINDS, rowsIn, TestDatabases } from './databases.js';

const NOTHING = { responses: 0, items: 0, artifacts: 0 };

describe.each(KINDS)('how long the store on %s keeps what', (kind) => {
  let databases: TestDatabases;
  let db: Kysely<StoreSchema>;
  let store: SqlResponseStore;
  beforeAll(async () => {
    databases = await TestDatabases.start(kind);
    db = await databases.connect();
  });
  beforeEach(async () => {
    await db.deleteFrom('responses').execute();
    store = storeOn(db);
  });
  afterAll(() => databases.stop());

  async function chainOf(length: number, parent?: ResponseNode): Promise<ResponseNode[]> {
    const steps = Array.from({ length }, (_, index) => ({
      input: [user(`question ${index}`)],
      output: [thought('hm'), answer(`answer ${index}`)],
    }));
    const nodes = await makeChain(steps, parent);
    await store.save(nodes.at(-1) as ResponseNode);
    return nodes;
  }
  const at = (nodes: readonly ResponseNode[], index: number) => nodes.at(index) as ResponseNode;
  const expire = (ids: readonly string[]) =>
    db.updateTable('responses').set({ expires_at: 1 }).where('id', 'in', ids).execute();
  const idsOf = (nodes: readonly ResponseNode[]) => nodes.map(({ id }) => id);

  describe('D12: a deleted response', () => {
    it('is found no more, and gone with its items when nothing continues it', async () => {
      const nodes = await chainOf(2);
      expect(await store.delete('tenant', at(nodes, 1).id)).toBe(true);
      expect(await store.load('tenant', at(nodes, 1).id)).toBeUndefined();
      expect(await store.find('tenant', at(nodes, 1).id)).toBeUndefined();
      expect(await store.delete('tenant', at(nodes, 1).id)).toBe(false);
      expect(await rowsIn(db)).toEqual({ responses: 1, items: 3, artifacts: 3 });
      expect(knowledge(await loaded(storeOn(db), at(nodes, 0)))).toEqual(knowledge(at(nodes, 0)));
    });

    it('stays for those that continue it, and goes with the last of them', async () => {
      const nodes = await chainOf(4);
      const fork = await chainOf(1, at(nodes, 1));
      expect(await store.delete('tenant', at(nodes, 1).id)).toBe(true);
      expect(await store.find('tenant', at(nodes, 1).id)).toBeUndefined();
      expect(knowledge(await loaded(storeOn(db), at(nodes, 3)))).toEqual(knowledge(at(nodes, 3)));
      await store.delete('tenant', at(nodes, 3).id);
      await store.delete('tenant', at(nodes, 2).id);
      expect((await rowsIn(db)).responses).toBe(3);
      await store.delete('tenant', at(fork, 0).id);
      // The deleted parent went with its last child; the root was never deleted.
      expect((await rowsIn(db)).responses).toBe(1);
      expect(await store.delete('tenant', at(nodes, 0).id)).toBe(true);
      expect(await rowsIn(db)).toEqual(NOTHING);
    });
  });

  describe('an expired response', () => {
    it('is not found, and swept away', async () => {
      const expired = storeOn(db, { retentionMs: -1 });
      const [node] = (await makeChain([{ input: [user('a')] }])) as [ResponseNode];
      await expired.save(node);
      expect(await expired.load('tenant', node.id)).toBeUndefined();
      expect(await expired.find('tenant', node.id)).toBeUndefined();
      expect(await store.sweep()).toBe(1);
      expect(await rowsIn(db)).toEqual(NOTHING);
    });

    it('of a long chain goes from its end, in batches', async () => {
      await expire(idsOf(await chainOf(45)));
      await chainOf(1);
      expect(await store.sweep()).toBe(45);
      expect((await rowsIn(db)).responses).toBe(1);
    });

    it('goes when all its forks have', async () => {
      const nodes = await chainOf(3);
      const fork = await chainOf(2, at(nodes, 0));
      await expire(idsOf([...nodes, ...fork]));
      expect(await store.sweep()).toBe(5);
    });

    it('stays for a younger one that continues it', async () => {
      const nodes = await chainOf(3);
      await expire(idsOf(nodes.slice(0, 2)));
      expect(await store.sweep()).toBe(0);
      expect(await store.find('tenant', at(nodes, 0).id)).toBeUndefined();
      expect(knowledge(await loaded(storeOn(db), at(nodes, 2)))).toEqual(knowledge(at(nodes, 2)));
    });
  });

  describe('a response behind one with store: false', () => {
    const SECRET = 'marker-of-a-secret';
    const unstored = { input: [user(SECRET)], output: [thought(SECRET)], settings: { store: false } };

    it('can be read but not continued, and nothing of its parent is written', async () => {
      const nodes = await makeChain([
        { input: [user('before')] },
        unstored,
        { output: [answer('so')] },
        // Cuts the reasoning of the turns before, which writes behind the cut once more.
        { input: [user('next')], output: [thought('own'), answer('own answer')] },
      ]);
      for (const node of nodes.filter(({ response }) => response.store)) await store.save(node);
      const last = at(nodes, 3);
      expect((await store.find('tenant', last.id))?.response).toEqual(last.response);
      expect(await store.load('tenant', last.id)).toBeUndefined();
      expect(await store.load('tenant', at(nodes, 2).id)).toBeUndefined();
      expect(await store.load('tenant', at(nodes, 0).id)).toBeDefined();
      expect(await db.selectFrom('artifacts').select('response_id').execute()).toEqual(
        [at(nodes, 0), at(nodes, 0), at(nodes, 0)].map(({ id }) => ({ response_id: id })),
      );
      const items = await db.selectFrom('items').select('body').execute();
      expect(JSON.stringify(items)).not.toContain(SECRET);
    });

    it('shows that it was compacted, and not what that stands for', async () => {
      const nodes = await makeChain([unstored, { output: [compaction(SECRET), answer('so')] }]);
      const last = at(nodes, 1);
      await store.save(last);
      const items = await db.selectFrom('items').selectAll().where('response_id', '=', last.id).execute();
      expect(items.map(({ expansion }) => expansion)).toEqual([null, null]);
      expect(JSON.stringify(items)).not.toContain(SECRET);
      const output = (await store.find('tenant', last.id))?.response.output;
      expect(output?.[0]).toMatchObject({ type: 'compaction', encrypted_content: '' });
    });
  });

  it('a chain with a piece missing is not found, rather than continued without it', async () => {
    const nodes = await chainOf(3);
    await db.deleteFrom('responses').where('id', '=', at(nodes, 1).id).execute();
    expect(await store.load('tenant', at(nodes, 2).id)).toBeUndefined();
  });

  it('a circle of parents is not found, and ends', async () => {
    const nodes = await chainOf(3);
    const root = db.updateTable('responses').set({ parent_id: at(nodes, 2).id });
    await root.where('id', '=', at(nodes, 0).id).execute();
    expect((await store.load('tenant', at(nodes, 2).id))?.depth).toBe(2);
    await root.set({ depth: 3 }).where('id', '=', at(nodes, 0).id).execute();
    expect(await store.load('tenant', at(nodes, 2).id)).toBeUndefined();
  });

  it('what could not be written in its own time is written with the next of its chain', async () => {
    const [first, second] = (await makeChain([{ input: [user('a')] }, { input: [user('b')] }])) as [
      ResponseNode,
      ResponseNode,
    ];
    await store.save(second);
    expect(await store.find('tenant', first.id)).toBeDefined();
    const { node } = await makeTurn(second, { input: [user('c')] });
    await store.save(node);
    expect(knowledge(await loaded(storeOn(db), node))).toEqual(knowledge(node));
  });
});
