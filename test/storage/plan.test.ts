import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CompiledQuery, Kysely, KyselyPlugin, QueryId, RootOperationNode } from 'kysely';
import type { StoreSchema } from '@turnpike/storage';
import { makeChain, storeOn, user } from './conversation.js';
import { TestDatabases } from './databases.js';

/** A plan that goes through a whole table is not noticed on the small ones of other tests. */
describe('what SQLite does to read a chain, and to sweep', () => {
  let databases: TestDatabases;
  let db: Kysely<StoreSchema>;
  beforeAll(async () => {
    databases = await TestDatabases.start('sqlite');
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
    for (const { sql: text, parameters, ...rest } of statements) {
      const { rows } = await db.executeQuery({ ...rest, parameters, sql: `explain query plan ${text}` });
      const plan = rows.map((row) => (row as { detail: string }).detail);
      expect(plan.filter((line) => /^SCAN (?!c$|d$|ends$|doomed$)/.test(line))).toEqual([]);
    }
  });
});

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
