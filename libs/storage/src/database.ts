import { Kysely, PostgresDialect, type Dialect } from 'kysely';
import Libsql from 'libsql';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import type { Socket } from 'node:net';
import { dirname } from 'node:path';
import pg from 'pg';
import { DatabaseCircuit, type CircuitOptions } from './database-circuit.js';
import { isAlive } from './database-errors.js';
import { GuardedPostgresDialect } from './guarded-postgres.js';
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
  const dialect =
    target.kind === 'sqlite'
      ? sqlite(target.path)
      : new PostgresDialect({ pool: poolOf(target.url, onConnectionLost) });
  return upToDate(new Kysely<StoreSchema>({ dialect }), target.kind);
}

/** A Postgres that may go away while it is used. */
export interface GuardedDatabase {
  /** What needs it while it is down fails at once. */
  readonly db: Kysely<StoreSchema>;
  readonly circuit: DatabaseCircuit;
  /** One connection beside the circuit, for what is done with a database that is just coming back. */
  readonly beside: Kysely<StoreSchema>;
  /** Closes all of it, whatever the database says. */
  close(): Promise<void>;
}

/**
 * Opens a Postgres behind a circuit, and brings its schema up to date.
 * @throws Error as {@link openDatabase}
 */
export async function openGuarded(
  url: string,
  onConnectionLost: (error: Error) => void,
  onChange: CircuitOptions['onChange'],
): Promise<GuardedDatabase> {
  const own = new CutPool(poolOf(url, () => undefined, 1));
  const plain = new PostgresDialect({ pool: own.pool });
  const beside = await upToDate(new Kysely<StoreSchema>({ dialect: plain }), 'postgres');
  const circuit = new DatabaseCircuit({ probe: (withinMs) => signOfLife(url, withinMs), onChange });
  const pool = new CutPool(poolOf(url, onConnectionLost));
  circuit.onDown(() => pool.cut());
  const db = new Kysely<StoreSchema>({ dialect: new GuardedPostgresDialect({ pool: pool.pool }, circuit) });
  return {
    db,
    circuit,
    beside,
    async close() {
      circuit.close();
      own.cut();
      if (circuit.isDown) pool.cut();
      await Promise.all([db.destroy(), beside.destroy()]);
    },
  };
}

async function upToDate(db: Kysely<StoreSchema>, kind: DatabaseTarget['kind']): Promise<Kysely<StoreSchema>> {
  try {
    await migrate(db, kind);
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

function poolOf(url: string, onConnectionLost: (error: Error) => void, max?: number): pg.Pool {
  const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
    oid === INT8 ? Number : (pg.types.getTypeParser(oid, format) as unknown);
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'turnpike',
    ...POSTGRES_TIMEOUTS,
    types: { getTypeParser },
    ...(max !== undefined && { max }),
  });
  // Without a listener the loss of an idle connection would end the process.
  pool.on('error', onConnectionLost);
  // And so would that of one which is in use: the query that it was lost in, or the next one on it, says so.
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

/** A pool whose connections can be ended without asking the server, which would have to answer. */
class CutPool {
  readonly #clients = new Set<pg.PoolClient>();

  constructor(readonly pool: pg.Pool) {
    pool.on('connect', (client) => this.#clients.add(client));
    pool.on('remove', (client) => this.#clients.delete(client));
  }

  /** Ends every connection; what is asked on one fails, and its transaction is rolled back. */
  cut(): void {
    // The driver itself ends a connection this way when the server does not let it go.
    for (const client of this.#clients)
      (client as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
  }
}

/** @throws Error when the server does not answer on a new connection within so many ms */
async function signOfLife(url: string, withinMs: number): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'turnpike',
    connectionTimeoutMillis: withinMs,
    query_timeout: withinMs,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select 1');
  } catch (thrown) {
    if (!isAlive(thrown)) throw thrown;
  } finally {
    // Not waited for: a server that hangs does not say goodbye.
    client.end().catch(() => undefined);
  }
}
