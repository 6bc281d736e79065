import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ResponseNode } from '@turnpike/conversation';
import { CachedResponseStore, type StoreFailure, type StoreSchema } from '@turnpike/storage';
import type { Kysely } from 'kysely';
import { makeChain, makeTurn, storeOn, user } from './conversation.js';
import { KINDS, TestDatabases } from './databases.js';

describe.each(KINDS)('a cache before the store on %s', (kind) => {
  let databases: TestDatabases;
  let db: Kysely<StoreSchema>;
  let failures: StoreFailure[];
  let down: boolean;
  let store: CachedResponseStore;
  let node: ResponseNode;
  beforeAll(async () => {
    databases = await TestDatabases.start(kind);
    db = await databases.connect();
  });
  beforeEach(async () => {
    failures = [];
    down = false;
    const failing = db.withPlugin({
      transformQuery: ({ node: query }) => {
        if (down) throw new Error('the database is down');
        return query;
      },
      transformResult: ({ result }) => Promise.resolve(result),
    });
    store = new CachedResponseStore(storeOn(failing), {
      budget: 1_000,
      onFailure: (failure) => failures.push(failure),
    });
    [node] = (await makeChain([{ input: [user('a')] }])) as [ResponseNode];
  });
  afterAll(() => databases.stop());

  it('gives back the very node that this process made', async () => {
    await store.save(node);
    expect(await store.load('tenant', node.id)).toBe(node);
    expect(await store.load('other', node.id)).toBeUndefined();
  });

  it('reads what another process made, once', async () => {
    await storeOn(db).save(node);
    const read = await store.load('tenant', node.id);
    expect(read).toEqual(expect.objectContaining({ id: node.id, chainBytes: 100 }));
    expect(await store.load('tenant', node.id)).toBe(read);
  });

  it('notices what another process deleted', async () => {
    await store.save(node);
    await storeOn(db).delete('tenant', node.id);
    expect(await store.load('tenant', node.id)).toBeUndefined();
    expect(await store.find('tenant', node.id)).toBeUndefined();
  });

  it('forgets what it deletes', async () => {
    await store.save(node);
    expect(await store.delete('tenant', node.id)).toBe(true);
    expect(await store.load('tenant', node.id)).toBeUndefined();
  });

  describe('while the database is down', () => {
    beforeEach(() => {
      down = true;
    });

    it('keeps a response usable here, says so, and writes it with the next of its chain', async () => {
      await store.save(node);
      expect(failures).toMatchObject([{ operation: 'save', responseId: node.id }]);
      expect(await store.load('tenant', node.id)).toBe(node);
      down = false;
      expect(await store.find('tenant', node.id)).toBeUndefined();
      const { node: next } = await makeTurn(node, { input: [user('b')] });
      await store.save(next);
      expect((await storeOn(db).load('tenant', next.id))?.parent?.id).toBe(node.id);
      expect(await storeOn(db).find('tenant', node.id)).toBeDefined();
    });

    it('goes on with what it has in memory', async () => {
      down = false;
      await store.save(node);
      down = true;
      expect(await store.load('tenant', node.id)).toBe(node);
      expect(failures).toMatchObject([{ operation: 'check', responseId: node.id }]);
    });

    it('does not call what it cannot look for unknown', async () => {
      await expect(store.load('tenant', node.id)).rejects.toThrow('down');
      await expect(store.find('tenant', node.id)).rejects.toThrow('down');
      await expect(store.delete('tenant', node.id)).rejects.toThrow('down');
    });
  });
});
