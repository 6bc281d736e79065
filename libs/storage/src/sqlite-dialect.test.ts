import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Kysely, sql } from 'kysely';
import Libsql from 'libsql';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { YieldingSqliteDialect } from './sqlite-dialect.js';

describe('a SQLite database that another process writes to', () => {
  let folder: string;
  let other: Libsql.Database;
  let db: Kysely<{ counts: { n: number } }>;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'turnpike-sqlite-'));
    const path = join(folder, 'file.db');
    other = new Libsql(path);
    other.pragma('journal_mode = WAL');
    other.exec('create table counts (n integer not null)');
    db = new Kysely({ dialect: new YieldingSqliteDialect(new Libsql(path)) });
  });
  afterEach(async () => {
    await db.destroy();
    other.close();
    rmSync(folder, { recursive: true });
  });

  const count = async () => (await db.selectFrom('counts').select('n').execute()).map(({ n }) => n);

  it.each([
    ['a statement', () => db.insertInto('counts').values({ n: 2 }).execute()],
    [
      'a statement that begins with what it looks for',
      () =>
        sql`with old (n) as (select n from counts) insert into counts select 1 + count(*) from old`.execute(
          db,
        ),
    ],
    [
      'a transaction that reads first',
      () =>
        db.transaction().execute(async (transaction) => {
          const rows = await transaction.selectFrom('counts').selectAll().execute();
          await transaction
            .insertInto('counts')
            .values({ n: rows.length + 1 })
            .execute();
        }),
    ],
  ])('%s waits for it, and what else the process does goes on', async (_what, write) => {
    other.exec('begin immediate');
    other.exec('insert into counts values (1)');
    let turns = 0;
    const written = write();
    for (; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve));
    expect(await Promise.race([written.then(() => 'written'), Promise.resolve('waiting')])).toBe('waiting');
    other.exec('commit');
    await written;
    expect(await count()).toEqual([1, 2]);
  });

  it('is not kept from writing by a statement that failed', async () => {
    await expect(sql`insert into counts values (null)`.execute(db)).rejects.toThrow('NOT NULL');
    await db.insertInto('counts').values({ n: 1 }).execute();
    expect(await count()).toEqual([1]);
  });

  it('fails at once for any other reason', async () => {
    await expect(sql`insert into nowhere values (1)`.execute(db)).rejects.toThrow('nowhere');
  });
});
