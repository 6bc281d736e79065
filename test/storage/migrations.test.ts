import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { statSync } from 'node:fs';
import { KINDS, TestDatabases } from './databases.js';

/** Each version once, and at least the first. */
const inOrder = (versions: number) =>
  Array.from({ length: Math.max(1, versions) }, (_, index) => ({ version: index + 1 }));

describe.each(KINDS)('migrations on %s', (kind) => {
  let databases: TestDatabases;
  beforeAll(async () => {
    databases = await TestDatabases.start(kind);
  });
  afterAll(() => databases.stop());

  it('are applied once, however often the database is opened', async () => {
    const target = await databases.target();
    await databases.connect(target);
    const db = await databases.connect(target);
    const { rows } = await sql<{ version: number }>`select version from schema_migrations`.execute(db);
    expect(rows).toEqual(inOrder(rows.length));
  });

  // SQLite blocks its thread while it waits, so several at once are processes: test/e2e/store.test.ts starts them.
  if (kind === 'postgres')
    it('are applied once when several start at the same time', async () => {
      const target = await databases.target();
      const [db] = await Promise.all(Array.from({ length: 6 }, () => databases.connect(target)));
      const { rows } = await sql`select version from schema_migrations`.execute(
        db ?? (await databases.connect()),
      );
      expect(rows).toEqual(inOrder(rows.length));
    });

  if (kind === 'sqlite')
    it('make files that nobody else can read', async () => {
      const target = await databases.target();
      await databases.connect(target);
      const path = target.kind === 'sqlite' ? target.path : '';
      for (const suffix of ['', '-wal', '-shm']) expect(statSync(path + suffix).mode & 0o777).toBe(0o600);
    });

  it('refuse a database that a newer version has used', async () => {
    const target = await databases.target();
    const db = await databases.connect(target);
    await sql`insert into schema_migrations values (99, 'from the future', 0)`.execute(db);
    await expect(databases.connect(target)).rejects.toThrow('used by a newer one');
  });
});
