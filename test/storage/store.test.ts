import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sql, type Kysely, type KyselyPlugin } from 'kysely';
import type { ResponseNode } from '@turnpike/conversation';
import type { StoreSchema } from '@turnpike/storage';
import {
  answer,
  call,
  compaction,
  CODECS,
  knowledge,
  loaded,
  makeChain,
  makeTurn,
  picture,
  result,
  storeOn,
  thought,
  user,
  type Step,
} from './conversation.js';
import { KINDS, rowsIn, TestDatabases } from './databases.js';

const TOOLS = [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }];

/** Turns in which everything happens that a record has to say. */
const STEPS: Step[] = [
  { input: [user('one')], output: [thought('hm'), answer('first')], settings: { tools: TOOLS } },
  { input: [picture, user('two')], output: [thought('so'), call('c1')], settings: { tools: TOOLS } },
  { input: [result('c1')], output: [thought('ah'), answer('second')], settings: { tools: TOOLS } },
  { input: [user('three')], settings: { tools: TOOLS, instructions: 'Be brief.' } },
  { input: [{ type: 'additional_tools', tools: [{ type: 'custom', name: 'note' }] }], output: [call('c2')] },
  { input: [] },
  { input: [{ ...result('c2') }], output: [compaction('notes'), answer('third')] },
  { brought: [thought('then')], input: [user('four')], output: [answer('fourth')] },
];

/** Counts statements. */
function counted(db: Kysely<StoreSchema>): { db: Kysely<StoreSchema>; count: () => number } {
  let statements = 0;
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => {
      statements += 1;
      return node;
    },
    transformResult: ({ result: found }) => Promise.resolve(found),
  };
  return { db: db.withPlugin(plugin), count: () => statements };
}

describe.each(KINDS)('the store on %s', (kind) => {
  let databases: TestDatabases;
  let db: Kysely<StoreSchema>;
  beforeAll(async () => {
    databases = await TestDatabases.start(kind);
    db = await databases.connect();
  });
  afterAll(() => databases.stop());

  describe('a chain that is read', () => {
    it('knows after each turn what the one in memory knew', async () => {
      const nodes = await makeChain(STEPS);
      for (const node of nodes) {
        await storeOn(db).save(node);
        expect(knowledge(await loaded(storeOn(db), node))).toEqual(knowledge(node));
      }
    });

    it('has what a client sent back as the client’s, ids and all', async () => {
      const { node } = await makeTurn(undefined, { brought: [thought('so')], input: [user('one')] });
      await storeOn(db).save(node);
      const { input } = await loaded(storeOn(db), node);
      expect(input.map(({ sampled, brought }) => [sampled?.ids.length, brought])).toEqual([
        [node.input[0]?.sampled?.ids.length, true],
        [undefined, undefined],
      ]);
    });

    it('goes on the same way, and encodes nothing but the new item', async () => {
      const [node] = (await makeChain(STEPS.slice(0, 3))).slice(-1) as [ResponseNode];
      await storeOn(db).save(node);
      const next = { input: [user('and now?')], output: [answer('now')], settings: { tools: TOOLS } };
      const warm = await makeTurn(node, next);
      const cold = await makeTurn(await loaded(storeOn(db), node), next);
      // The route is all that is found anew.
      expect(cold.work).toEqual({ ...warm.work, routes_resolved: 1 });
      const { ids: _cold, history: _1, response: _2, ...coldKnowledge } = knowledge(cold.node) as Known;
      const { ids: _warm, history: _3, response: _4, ...warmKnowledge } = knowledge(warm.node) as Known;
      expect(coldKnowledge).toEqual(warmKnowledge);
    });

    it('keeps the law however it was written, read back in between, and forked', () =>
      fc.assert(
        fc.asyncProperty(fc.array(STEP, { minLength: 1, maxLength: 10 }), async (moves) => {
          const store = storeOn(db);
          let memory: ResponseNode | undefined;
          let stored: ResponseNode | undefined;
          for (const [index, { step, reload }] of moves.entries()) {
            const turn = step(`c${index}`);
            const parent = reload && stored !== undefined ? await loaded(store, stored) : stored;
            // A sibling that must not be seen.
            if (parent !== undefined) await store.save((await makeTurn(parent, turn)).node);
            memory = (await makeTurn(memory, turn)).node;
            stored = (await makeTurn(parent, turn)).node;
            await store.save(stored);
          }
          if (memory === undefined || stored === undefined) return;
          const known = knowledge(await loaded(storeOn(db), stored)) as Known;
          const expected = knowledge(memory) as Known;
          expect(known.rendered).toEqual(expected.rendered);
          expect(known.validated).toEqual(expected.validated);
        }),
        { numRuns: kind === 'sqlite' ? 60 : 15 },
      ));

    it('is folded again where a stage has no codec, or records of another version', async () => {
      const nodes = await makeChain(STEPS.slice(0, 2));
      const [, last] = nodes as [ResponseNode, ResponseNode];
      for (const node of nodes) await storeOn(db).save(node);
      expect((await loaded(storeOn(db, { codecs: new Map() }), last)).artifacts.size).toBe(0);
      const newer = storeOn(db, {
        codecs: new Map([...CODECS].map(([name, codec]) => [name, { ...codec, version: 1_000 }])),
      });
      const bare = await loaded(newer, last);
      // A hold is nothing that is carried over, whatever is stored.
      expect([...bare.artifacts.keys()]).toEqual(['hold']);
      // What it makes of that says everything again, for the turns behind it.
      const next = (await makeTurn(bare, STEPS[2] as Step)).node;
      await newer.save(next);
      const straight = (await makeTurn(last, STEPS[2] as Step)).node;
      const [found, expected] = [await loaded(newer, next), straight].map(knowledge) as [Known, Known];
      expect(found.rendered).toEqual(expected.rendered);
    });

    it('D12: of 2,000 turns takes one statement, and rows that grow with its turns', async () => {
      const fresh = await databases.connect();
      const steps = Array.from({ length: 2_000 }, (_, index) => ({
        input: [user(`question ${index}`)],
        output: [thought('let me see'), answer(`answer ${index}`)],
      }));
      const nodes = await makeChain(steps);
      // The last one brings those before it along.
      await storeOn(fresh).save(nodes.at(-1) as ResponseNode);
      expect(await rowsIn(fresh)).toEqual({ responses: 2_000, items: 6_000, artifacts: 6_000 });
      const { rows } = await sql<{ bytes: number }>`select sum(length(ids)) as bytes from artifacts`.execute(
        fresh,
      );
      const [first] = nodes as [ResponseNode];
      const perTurn = 4 * (knowledge(first) as Known).rendered.body.length;
      expect(Number(rows[0]?.bytes)).toBeLessThan(2_000 * 2 * perTurn);

      for (const length of [1, 10, 2_000]) {
        const counter = counted(fresh);
        const node = await loaded(storeOn(counter.db), nodes[length - 1] as ResponseNode);
        expect(counter.count()).toBe(1);
        expect(node.depth).toBe(length - 1);
      }
      const tip = await loaded(storeOn(fresh), nodes.at(-1) as ResponseNode);
      expect(knowledge(tip)).toEqual(knowledge(nodes.at(-1) as ResponseNode));
      const { work } = await makeTurn(tip, { input: [user('x')] });
      expect(work['tokens_encoded']).toBeLessThan(5);
    });
  });

  describe('a response', () => {
    it('is found on its own, its items in order, however many', async () => {
      const input = Array.from({ length: 1_203 }, (_, index) => user(`item ${index}`));
      const [node] = (await makeChain([{ input, output: STEPS[0]?.output ?? [] }])) as [ResponseNode];
      await storeOn(db).save(node);
      expect(await storeOn(db).find('tenant', node.id)).toEqual({
        response: node.response,
        input: node.input.map(({ item }) => item),
      });
    });

    it('can be read through another connection when save returns', async () => {
      const target = await databases.target();
      const [one, other] = [await databases.connect(target), await databases.connect(target)];
      const [node] = (await makeChain(STEPS.slice(0, 1))) as [ResponseNode];
      await storeOn(one).save(node);
      expect((await loaded(storeOn(other), node)).id).toBe(node.id);
    });

    it('is saved once, though saved twice', async () => {
      const fresh = await databases.connect();
      const [node] = (await makeChain(STEPS.slice(0, 1))) as [ResponseNode];
      await storeOn(fresh).save(node);
      await storeOn(fresh).save(node);
      expect(await rowsIn(fresh)).toEqual({ responses: 1, items: 3, artifacts: 3 });
    });

    it('is unknown to other tenants in every way', async () => {
      const [node] = (await makeChain(STEPS.slice(0, 1))) as [ResponseNode];
      const store = storeOn(db);
      await store.save(node);
      for (const tenant of ['other', '']) {
        expect(await store.load(tenant, node.id)).toBeUndefined();
        expect(await store.find(tenant, node.id)).toBeUndefined();
        expect(await store.has(tenant, node.id)).toBe(false);
        expect(await store.delete(tenant, node.id)).toBe(false);
      }
      expect(await store.has('tenant', node.id)).toBe(true);
    });

    it.each([['resp_unknown'], [''], ['resp_\0'], ['resp_\ud800'], ["' or 1=1 --"], ['x'.repeat(300)]])(
      'of id %j is not there',
      async (id) => {
        const store = storeOn(db);
        expect(await store.load('tenant', id)).toBeUndefined();
        expect(await store.find('tenant', id)).toBeUndefined();
        expect(await store.has('tenant', id)).toBe(false);
        expect(await store.delete('tenant', id)).toBe(false);
      },
    );

    it('keeps text as it was, whatever it holds', async () => {
      const text = 'NUL \0, lone \ud800, 안녕 👩‍👩‍👧 \u2028 "quoted" \\u0000';
      const [node] = (await makeChain([{ input: [user(text)] }])) as [ResponseNode];
      await storeOn(db).save(node);
      expect((await loaded(storeOn(db), node)).input).toEqual(node.input);
    });
  });
});

interface Known {
  rendered: { body: number[] };
  validated: unknown;
  [field: string]: unknown;
}

/** One turn of a random conversation, and whether its parent is read from the store before. */
const STEP = fc.record({
  reload: fc.boolean(),
  step: fc.constantFrom<((callId: string) => Step)[]>(
    () => ({ input: [user('say something')], output: [thought('thinking'), answer('something')] }),
    () => ({ input: [user('more')], output: [thought('thinking'), thought('harder'), answer('more')] }),
    () => ({ input: [user('other')], settings: { instructions: 'Be brief.' } }),
    (id) => ({ output: [thought('a tool'), call(id)] }),
    (id) => ({ input: [call(id), result(id)], output: [thought('fine')] }),
    () => ({ input: [user('all')], settings: { reasoning: { context: 'all_turns' } } }),
    () => ({ input: [{ type: 'additional_tools', tools: [{ type: 'custom', name: 'note' }] }] }),
    () => ({ output: [compaction('notes'), answer('so')] }),
    () => ({}),
  ),
});
