import { sql, type Kysely } from 'kysely';
import type { DatabaseKind, StoreSchema } from './schema.js';

/** Types that have no name in common. */
const BYTES = { sqlite: sql`blob`, postgres: sql`bytea` } as const;

/** One step of a schema. */
export interface Migration {
  readonly name: string;
  up(db: Kysely<StoreSchema>, kind: DatabaseKind): Promise<void>;
}

/** A schema that is brought up to date by itself; several share a database. */
export interface SchemaHistory {
  /** Table that says which steps were taken. */
  readonly table: string;
  /** In order; the first is version 1. A released one never changes: what has to change is a new one. */
  readonly migrations: readonly Migration[];
}

const MIGRATIONS: readonly Migration[] = [
  {
    name: 'responses, items, artifacts',
    async up(db, kind) {
      const { schema } = db;
      await schema
        .createTable('responses')
        .addColumn('id', 'text', (column) => column.primaryKey().notNull())
        .addColumn('tenant', 'text', (column) => column.notNull())
        .addColumn('parent_id', 'text')
        .addColumn('depth', 'integer', (column) => column.notNull())
        .addColumn('created_at', 'bigint', (column) => column.notNull())
        .addColumn('expires_at', 'bigint', (column) => column.notNull())
        .addColumn('own_bytes', 'bigint', (column) => column.notNull())
        .addColumn('body', 'text', (column) => column.notNull())
        .execute();
      await schema.createIndex('responses_by_parent').on('responses').column('parent_id').execute();
      await schema.createIndex('responses_by_expiry').on('responses').column('expires_at').execute();
      await schema
        .createTable('items')
        .addColumn('response_id', 'text', (column) =>
          column.notNull().references('responses.id').onDelete('cascade'),
        )
        .addColumn('position', 'integer', (column) => column.notNull())
        .addColumn('is_output', 'integer', (column) => column.notNull())
        .addColumn('item_id', 'text')
        .addColumn('body', 'text', (column) => column.notNull())
        .addColumn('format', 'text')
        .addColumn('ids', BYTES[kind])
        .addPrimaryKeyConstraint('items_key', ['response_id', 'position'])
        .execute();
      await schema.createIndex('items_by_id').on('items').column('item_id').execute();
      await schema
        .createTable('artifacts')
        .addColumn('response_id', 'text', (column) =>
          column.notNull().references('responses.id').onDelete('cascade'),
        )
        .addColumn('stage', 'text', (column) => column.notNull())
        .addColumn('version', 'integer', (column) => column.notNull())
        .addColumn('complete', 'integer', (column) => column.notNull())
        .addColumn('state', 'text', (column) => column.notNull())
        .addColumn('ids', BYTES[kind], (column) => column.notNull())
        .addPrimaryKeyConstraint('artifacts_key', ['response_id', 'stage'])
        .execute();
    },
  },
  {
    name: 'what sealed items stand for',
    async up(db) {
      await db.schema.alterTable('items').addColumn('expansion', 'text').execute();
    },
  },
  {
    name: 'conversations, conversation_items',
    async up({ schema }, kind) {
      await schema
        .createTable('conversations')
        .addColumn('id', 'text', (column) => column.primaryKey().notNull())
        .addColumn('tenant', 'text', (column) => column.notNull())
        .addColumn('created_at', 'bigint', (column) => column.notNull())
        .addColumn('deleted_at', 'bigint')
        .addColumn('metadata', 'text', (column) => column.notNull())
        .addColumn('version', 'integer', (column) => column.notNull())
        .addColumn('next_position', 'integer', (column) => column.notNull())
        .addColumn('head_id', 'text')
        .addColumn('head_end', 'integer', (column) => column.notNull())
        .execute();
      await schema
        .createIndex('conversations_by_deletion')
        .on('conversations')
        .column('deleted_at')
        .execute();
      await schema
        .createTable('conversation_items')
        .addColumn('conversation_id', 'text', (column) => column.notNull().references('conversations.id'))
        .addColumn('position', 'integer', (column) => column.notNull())
        .addColumn('item_id', 'text', (column) => column.notNull())
        .addColumn('body', 'text', (column) => column.notNull())
        .addColumn('format', 'text')
        .addColumn('ids', BYTES[kind])
        .addColumn('expansion', 'text')
        .addPrimaryKeyConstraint('conversation_items_key', ['conversation_id', 'position'])
        .execute();
      await schema
        .createIndex('conversation_items_by_id')
        .unique()
        .on('conversation_items')
        .column('item_id')
        .execute();
    },
  },
  {
    name: 'background jobs and their events',
    async up({ schema }) {
      await schema
        .createTable('background_jobs')
        .addColumn('response_id', 'text', (column) => column.primaryKey().notNull())
        .addColumn('tenant', 'text', (column) => column.notNull())
        .addColumn('status', 'text', (column) => column.notNull())
        .addColumn('position', 'bigint', (column) => column.notNull())
        .addColumn('runner', 'text')
        .addColumn('lease_until', 'bigint')
        .addColumn('cancel_requested', 'integer', (column) => column.notNull())
        .addColumn('events', 'integer')
        .addColumn('request', 'text')
        .addColumn('response', 'text')
        .addColumn('expires_at', 'bigint', (column) => column.notNull())
        .execute();
      const index = (name: string) => schema.createIndex(name).on('background_jobs');
      await index('background_jobs_in_order').columns(['status', 'position']).execute();
      await index('background_jobs_by_tenant').columns(['tenant', 'status']).execute();
      await index('background_jobs_by_expiry').columns(['status', 'expires_at']).execute();
      await schema
        .createTable('background_events')
        .addColumn('response_id', 'text', (column) =>
          column.notNull().references('background_jobs.response_id').onDelete('cascade'),
        )
        .addColumn('first', 'integer', (column) => column.notNull())
        .addColumn('lines', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('background_events_key', ['response_id', 'first'])
        .execute();
    },
  },
  {
    name: 'whose key a background job is accounted to',
    async up(db) {
      await db.schema.alterTable('background_jobs').addColumn('key_id', 'text').execute();
    },
  },
];

const STORE: SchemaHistory = { table: 'schema_migrations', migrations: MIGRATIONS };

/** Any number that no one else locks in this database. */
const ADVISORY_LOCK = 8686_0001;

/** What lets one process at a time in, until its transaction ends. */
const BEGIN_ALONE = {
  sqlite: [sql`begin immediate`],
  postgres: [sql`begin`, sql`select pg_advisory_xact_lock(${sql.lit(ADVISORY_LOCK)})`],
} as const;

/**
 * Brings the schema up to date: all missing steps in one transaction. Processes that start at once wait for each other.
 * @throws Error when the database is of a newer version than this program
 */
export async function migrate(
  database: Kysely<StoreSchema>,
  kind: DatabaseKind,
  history: SchemaHistory = STORE,
): Promise<void> {
  await database.connection().execute(async (db) => {
    for (const statement of BEGIN_ALONE[kind]) await statement.execute(db);
    try {
      await migrateInTransaction(db, kind, history);
      await sql`commit`.execute(db);
    } catch (thrown) {
      await sql`rollback`.execute(db);
      throw thrown;
    }
  });
}

async function migrateInTransaction(
  db: Kysely<StoreSchema>,
  kind: DatabaseKind,
  { table, migrations }: SchemaHistory,
): Promise<void> {
  await sql`create table if not exists ${sql.table(table)}
    (version integer primary key not null, name text not null, applied_at bigint not null)`.execute(db);
  const { rows } = await sql<{ version: number }>`
    select coalesce(max(version), 0) as version from ${sql.table(table)}`.execute(db);
  const applied = rows[0]?.version ?? 0;
  if (applied > migrations.length) {
    throw new Error(
      `the database has version ${applied}, and this program knows up to ${migrations.length}: it was used by a newer one`,
    );
  }
  for (const [index, migration] of migrations.entries()) {
    const version = index + 1;
    if (version <= applied) continue;
    await migration.up(db, kind);
    await sql`insert into ${sql.table(table)} (version, name, applied_at)
      values (${version}, ${migration.name}, ${Date.now()})`.execute(db);
  }
}
