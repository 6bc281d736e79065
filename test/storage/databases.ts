import { openDatabase, type DatabaseTarget, type StoreSchema } from '@turnpike/storage';
import { sql, type Kysely } from 'kysely';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres, type PostgresService } from '../e2e/services.js';

/** Both kinds of database, for `describe.each`. */
export const KINDS = ['sqlite', 'postgres'] as const;

/** Makes empty databases of one kind, and takes them away. */
export class TestDatabases {
  readonly #folder: string;
  readonly #server: PostgresService | undefined;
  readonly #open: Kysely<StoreSchema>[] = [];
  #made = 0;
  #shared: Kysely<StoreSchema> | undefined;

  private constructor(folder: string, server: PostgresService | undefined) {
    this.#folder = folder;
    this.#server = server;
  }

  static async start(kind: (typeof KINDS)[number]): Promise<TestDatabases> {
    const server = kind === 'postgres' ? await startPostgres() : undefined;
    return new TestDatabases(mkdtempSync(join(tmpdir(), 'turnpike-store-')), server);
  }

  /** A database that no one has used yet. */
  async target(): Promise<DatabaseTarget> {
    if (this.#server !== undefined) return { kind: 'postgres', url: await this.#server.database() };
    return { kind: 'sqlite', path: join(this.#folder, `store-${++this.#made}.db`) };
  }

  /** A connection to it, or to a fresh one; closed at the end. */
  async connect(target?: DatabaseTarget): Promise<Kysely<StoreSchema>> {
    const db = await openDatabase(target ?? (await this.target()), () => undefined);
    this.#open.push(db);
    return db;
  }

  /**
   * A connection to a database with nothing in it, which tests that follow each other have one after the other: to make
   * one in Postgres takes longer than most tests do.
   */
  async empty(): Promise<Kysely<StoreSchema>> {
    if (this.#server === undefined) return this.connect();
    const db = (this.#shared ??= await this.connect());
    await db.transaction().execute(async (transaction) => {
      const { rows } = await sql<{ name: string }>`select tablename as name from pg_tables
        where schemaname = 'public' and tablename not like '%migration%'`.execute(transaction);
      // What a ledger guards against is done here on purpose.
      await sql`set local session_replication_role = replica`.execute(transaction);
      const tables = sql.join(rows.map(({ name }) => sql.table(name)));
      await sql`truncate ${tables} restart identity cascade`.execute(transaction);
    });
    return db;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#open.map((db) => db.destroy()));
    await this.#server?.remove();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** How many rows each table has. */
export async function rowsIn(
  db: Kysely<StoreSchema>,
): Promise<Record<'responses' | 'items' | 'artifacts', number>> {
  const count = async (table: keyof StoreSchema) => {
    const { rows } = await sql<{ n: number }>`select count(*) as n from ${sql.table(table)}`.execute(db);
    return Number(rows[0]?.n);
  };
  return {
    responses: await count('responses'),
    items: await count('items'),
    artifacts: await count('artifacts'),
  };
}
