import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Item } from '@turnpike/protocol';
import type { CompiledQuery, Kysely, KyselyPlugin, QueryId, RootOperationNode } from 'kysely';
import { SqlConversationStore, type StoreSchema } from '@turnpike/storage';
import { makeChain, storeOn, user } from './conversation.js';
import { TestDatabases } from './databases.js';

/** A plan that goes through a whole table is not noticed on the small ones of other tests. */
describe('what SQLite does to read a chain, and to sweep', () => {
  let databases: TestDatabases;
  let db: Kysely<StoreSchema>;
  beforeAll(async () => {
    databases = await TestDatabases.start('sqlite');
  });
  beforeEach(async () => {
    db = await databases.connect();
  });
  afterAll(() => databases.stop());

  it('is to look things up: it scans no table', async () => {
    const [node] = await makeChain([{ input: [user('a')] }]);
    const statements: CompiledQuery[] = [];
    const store = storeOn(db.withPlugin(recorder(db, statements)));
    await store.load('tenant', node?.id ?? '');
    await store.sweep();
    expect(statements).toHaveLength(2);
    await expectLookups(db, statements, ['c', 'd', 'ends', 'doomed']);
  });

  it('is to look things up for a conversation as well', async () => {
    const statements: CompiledQuery[] = [];
    const store = new SqlConversationStore(db.withPlugin(recorder(db, statements)));
    const item: Item = { type: 'message', id: 'msg_1', role: 'user', content: [] };
    await store.create('tenant', { id: 'conv_1', createdAt: 0, metadata: {} }, [{ item }]);
    await store.find('tenant', 'conv_1');
    await store.setMetadata('tenant', 'conv_1', {});
    await store.open('tenant', 'conv_1', 'head');
    await store.open('tenant', 'conv_1', 'start');
    await store.append('tenant', 'conv_1', [], { response: 'resp_1', version: 0 });
    await store.listItems('tenant', 'conv_1', { limit: 5, order: 'desc', after: 'msg_1' });
    await store.findItem('tenant', 'conv_1', 'msg_1');
    await store.findItems('tenant', ['msg_1', 'msg_2']);
    await store.removeItem('tenant', 'conv_1', 'msg_1');
    await store.delete('tenant', 'conv_1');
    await store.sweep();
    expect(statements.length).toBeGreaterThan(12);
    await expectLookups(db, statements);
  });
});

/** Every statement finds its rows by an index, but for those that go through a result of their own. */
async function expectLookups(
  db: Kysely<StoreSchema>,
  statements: readonly CompiledQuery[],
  results: readonly string[] = [],
): Promise<void> {
  for (const { sql: text, parameters, ...rest } of statements) {
    const { rows } = await db.executeQuery({ ...rest, parameters, sql: `explain query plan ${text}` });
    const plan = rows.map((row) => (row as { detail: string }).detail);
    const scans = plan.filter((line) => line.startsWith('SCAN '));
    expect(scans.filter((line) => !results.includes(line.slice('SCAN '.length)))).toEqual([]);
  }
}

/** Takes down the statements that go through it. */
function recorder(db: Kysely<StoreSchema>, statements: CompiledQuery[]): KyselyPlugin {
  return {
    transformQuery: ({ node, queryId }: { node: RootOperationNode; queryId: QueryId }) => {
      statements.push(db.getExecutor().compileQuery(node, queryId));
      return node;
    },
    transformResult: ({ result }) => Promise.resolve(result),
  };
}
