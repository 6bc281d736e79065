import {
  PostgresDialect,
  PostgresDriver,
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type PostgresDialectConfig,
  type QueryResult,
} from 'kysely';
import type { DatabaseCircuit } from './database-circuit.js';
import { isAway, unavailable } from './database-errors.js';

/** A connection of Kysely's own, whose type it does not name. */
type Inner = Parameters<PostgresDriver['releaseConnection']>[0];

/**
 * Postgres behind a circuit: what needs a database that is down fails at once, and what waits for one fails when it turns out to
 * be.
 */
export class GuardedPostgresDialect extends PostgresDialect {
  readonly #config: PostgresDialectConfig;
  readonly #circuit: DatabaseCircuit;

  constructor(config: PostgresDialectConfig, circuit: DatabaseCircuit) {
    super(config);
    this.#config = config;
    this.#circuit = circuit;
  }

  override createDriver(): Driver {
    return new GuardedDriver(this.#config, this.#circuit);
  }
}

class GuardedDriver extends PostgresDriver {
  readonly #circuit: DatabaseCircuit;

  constructor(config: PostgresDialectConfig, circuit: DatabaseCircuit) {
    super(config);
    this.#circuit = circuit;
  }

  /** @throws ApiError store_unavailable */
  override async acquireConnection(): Promise<DatabaseConnection> {
    this.#circuit.check();
    const acquired = this.#circuit.untilDown(super.acquireConnection() as Promise<Inner>, (late) => {
      super.releaseConnection(late).catch(() => undefined);
    });
    try {
      return new GuardedConnection(await this.#circuit.watch(acquired, isAway), this.#circuit);
    } catch (thrown) {
      throw isAway(thrown) ? unavailable(thrown) : thrown;
    }
  }

  override async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await super.rollbackTransaction(innerOf(connection));
  }

  override async releaseConnection(connection: DatabaseConnection): Promise<void> {
    await super.releaseConnection(innerOf(connection));
  }
}

class GuardedConnection implements DatabaseConnection {
  readonly #circuit: DatabaseCircuit;

  constructor(
    readonly inner: Inner,
    circuit: DatabaseCircuit,
  ) {
    this.#circuit = circuit;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    try {
      return await this.#circuit.watch(this.inner.executeQuery<R>(query), isAway);
    } catch (thrown) {
      throw isAway(thrown) ? unavailable(thrown) : thrown;
    }
  }

  streamQuery<R>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<R>> {
    return this.inner.streamQuery<R>(query, chunkSize);
  }
}

function innerOf(connection: DatabaseConnection): Inner {
  return connection instanceof GuardedConnection ? connection.inner : (connection as Inner);
}
