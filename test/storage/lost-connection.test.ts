import { expect, it } from '@jest/globals';
import { openDatabase } from '@turnpike/storage';
import { sql } from 'kysely';
import { startPostgres } from '../e2e/services.js';

it('survives that Postgres ends a connection which is in use', async () => {
  const server = await startPostgres();
  const db = await openDatabase({ kind: 'postgres', url: await server.database() }, () => undefined);
  try {
    const lost = db.transaction().execute(async (transaction) => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(transaction);
      await sql`select pg_terminate_backend(${rows[0]?.pid}::int)`.execute(db);
      // Nothing is asked of it in the meantime.
      await new Promise((resolve) => setTimeout(resolve, 200));
      await sql`select 1`.execute(transaction);
    });
    await expect(lost).rejects.toThrow();
    expect((await sql<{ one: number }>`select 1 as one`.execute(db)).rows).toEqual([{ one: 1 }]);
  } finally {
    await db.destroy();
    await server.remove();
  }
});
