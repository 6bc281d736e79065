import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ResponseNode } from '@turnpike/conversation';
import { CachedResponseStore, type StoreSchema } from '@turnpike/storage';
import type { Kysely } from 'kysely';
import { answer, knowledge, loaded, makeChain, makeTurn, storeOn, user } from './conversation.js';
import { rowsIn, TestDatabases } from './databases.js';

describe('D12: very long conversations', () => {
  let databases: TestDatabases;
  let db: Kysely<StoreSchema>;
  beforeAll(async () => {
    databases = await TestDatabases.start('sqlite');
  });
  afterAll(() => databases.stop());

  it('10,000 turns by previous_response_id: rows grow with them, the work of each does not', async () => {
    db = await databases.connect();
    const store = new CachedResponseStore(storeOn(db), {
      budget: 1e9,
      onFailure: ({ error }) => {
        throw error;
      },
    });
    let id: string | undefined;
    const work = new Set<string>();
    for (let turn = 0; turn < 10_000; turn++) {
      const parent = id === undefined ? undefined : await store.load('tenant', id);
      const made = await makeTurn(parent, { input: [user('go on')], output: [answer('done')] });
      await store.save(made.node);
      ({ id } = made.node);
      // The first one writes the head; every other does exactly what the one before it did.
      if (turn > 0) work.add(JSON.stringify(made.work));
    }
    expect([...work]).toHaveLength(1);
    expect(await rowsIn(db)).toEqual({ responses: 10_000, items: 20_000, artifacts: 30_000 });
  });

  it('an ancestor in the middle that is deleted leaves what goes on from it as it was', async () => {
    db = await databases.connect();
    const steps = Array.from({ length: 1_000 }, () => ({ input: [user('go on')], output: [answer('done')] }));
    const nodes = await makeChain(steps);
    const last = nodes.at(-1) as ResponseNode;
    const store = storeOn(db);
    await store.save(last);
    expect(await store.delete('tenant', (nodes[500] as ResponseNode).id)).toBe(true);
    expect(await store.load('tenant', (nodes[500] as ResponseNode).id)).toBeUndefined();
    const found = await loaded(storeOn(db), last);
    expect(knowledge(found)).toEqual(knowledge(last));
    const { work } = await makeTurn(found, { input: [user('and?')] });
    expect(work).toMatchObject({ items_rendered: 1, tokens_copied: 0 });
  });
});
