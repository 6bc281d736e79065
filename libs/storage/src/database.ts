import { Kysely, PostgresDialect, type Dialect } from 'kysely';
import Libsql from 'libsql';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import pg from 'pg';
import { migrate } from './migrations.js';
import type { StoreSchema } from './schema.js';
import { YieldingSqliteDialect } from './sqlite-dialect.js';

/** Where a store lies. */
export type DatabaseTarget =
  | {
      readonly kind: 'sqlite';
      /** Of the file; it and its folder are made when they are missing. `:memory:` is a database without one. */
      readonly path: string;
    }
  | { readonly kind: 'postgres'; readonly url: string };

/** How long opening a SQLite file waits for another process that writes, in ms. */
const OPEN_TIMEOUT_MS = 5_000;
/** A response waits for its commit: a database that does not answer must not hold it up for long. */
const POSTGRES_TIMEOUTS = {
  connectionTimeoutMillis: 5_000,
  statement_timeout: 10_000,
  query_timeout: 15_000,
};
/** Postgres' type of 64-bit integers, which its driver returns as text; ours are times and sizes, exact as numbers. */
const INT8 = 20;

/**
 * Opens the database and brings its schema up to date.
 * @param onConnectionLost called when Postgres ends a connection that nobody is using; the next query opens another
 * @throws Error when it cannot be opened, or belongs to a newer version
 */
export async function openDatabase(
  target: DatabaseTarget,
  onConnectionLost: (error: Error) => void,
): Promise<Kysely<StoreSchema>> {
  const dialect = target.kind === 'sqlite' ? sqlite(target.path) : postgres(target.url, onConnectionLost);
  const db = new Kysely<StoreSchema>({ dialect });
  try {
    await migrate(db, target.kind);
    return db;
  } catch (thrown) {
    await db.destroy();
    throw thrown;
  }
}

function sqlite(path: string): Dialect {
  if (path !== ':memory:') {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    // Made here, because SQLite would let everyone read it; the files it adds take their mode from this one.
    closeSync(openSync(path, 'a', 0o600));
  }
  const database = new Libsql(path, { timeout: OPEN_TIMEOUT_MS });
  // A commit is in the operating system's hands when it returns: kill -9 loses nothing, a power cut the latest ones.
  database.pragma('journal_mode = WAL');
  database.pragma('synchronous = NORMAL');
  database.pragma('foreign_keys = ON');
  return new YieldingSqliteDialect(database);
}

function postgres(url: string, onConnectionLost: (error: Error) => void): Dialect {
  const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
    oid === INT8 ? Number : (pg.types.getTypeParser(oid, format) as unknown);
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'turnpike',
    ...POSTGRES_TIMEOUTS,
    types: { getTypeParser },
  });
  // Without a listener the loss of an idle connection would end the process.
  pool.on('error', onConnectionLost);
  // And so would that of one which is in use: the query that it was lost in, or the next one on it, says so.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return new PostgresDialect({ pool });
}
