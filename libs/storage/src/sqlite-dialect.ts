import {
  SqliteDialect,
  SqliteDriver,
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type QueryResult,
} from 'kysely';
import type Libsql from 'libsql';
import { setTimeout as sleep } from 'node:timers/promises';

/** How long a statement waits for another process that writes, in ms. */
const BUSY_TIMEOUT_MS = 5_000;
/** Waits between tries, in ms; the last one is repeated. Transactions are short: most are over after the first. */
const BUSY_WAITS_MS = [1, 2, 5, 10, 20, 50];

/** What begins a transaction, and what needs no lock of its own: in WAL mode readers never wait. */
const BEGINS = /^\s*begin\b/i;
const ONLY_READS_OR_ENDS =
  /^\s*(?:(?:select|explain|pragma|commit|rollback)\b|with\b(?!.*\b(?:insert|update|delete)\b))/is;

/**
 * SQLite whose waiting for other writers does not stop the process. SQLite's own waiting (`busy_timeout`) blocks the thread,
 * and with it every connection of a gateway.
 *
 * Whoever writes takes the lock of writers first, by itself: a statement that finds it taken stays half done in the driver
 * until it is collected as garbage, and no transaction of the connection can be committed before that.
 */
export class YieldingSqliteDialect extends SqliteDialect {
  readonly #database: Libsql.Database;

  constructor(database: Libsql.Database) {
    super({ database });
    // A lock that is taken is reported at once.
    database.pragma('busy_timeout = 0');
    this.#database = database;
  }

  override createDriver(): Driver {
    return new YieldingDriver(this.#database);
  }
}

class YieldingDriver extends SqliteDriver {
  readonly #database: Libsql.Database;

  constructor(database: Libsql.Database) {
    super({ database });
    this.#database = database;
  }

  override async acquireConnection(): Promise<DatabaseConnection> {
    return new YieldingConnection(await super.acquireConnection(), this.#database);
  }
}

class YieldingConnection implements DatabaseConnection {
  readonly #connection: DatabaseConnection;
  readonly #database: Libsql.Database;

  constructor(connection: DatabaseConnection, database: Libsql.Database) {
    this.#connection = connection;
    this.#database = database;
  }

  /** @throws Error SQLITE_BUSY when others have been writing all the time */
  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (BEGINS.test(query.sql)) {
      await this.#begin();
      return { rows: [] };
    }
    if (this.#database.inTransaction || ONLY_READS_OR_ENDS.test(query.sql)) {
      return this.#connection.executeQuery<R>(query);
    }
    await this.#begin();
    try {
      const result = await this.#connection.executeQuery<R>(query);
      this.#database.exec('commit');
      return result;
    } catch (thrown) {
      if (this.#database.inTransaction) this.#database.exec('rollback');
      throw thrown;
    }
  }

  streamQuery<R>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<R>> {
    return this.#connection.streamQuery<R>(query, chunkSize);
  }

  async #begin(): Promise<void> {
    let waited = 0;
    for (let tries = 0; ; tries++) {
      try {
        this.#database.exec('begin immediate');
        return;
      } catch (thrown) {
        if (!isBusy(thrown) || waited >= BUSY_TIMEOUT_MS) throw thrown;
      }
      const wait = BUSY_WAITS_MS[Math.min(tries, BUSY_WAITS_MS.length - 1)] ?? 0;
      waited += wait;
      await sleep(wait);
    }
  }
}

/** Also a snapshot that is too old to write from: a statement of this connection was still reading. */
function isBusy(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && String(thrown.code).startsWith('SQLITE_BUSY');
}
