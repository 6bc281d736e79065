import type { SchemaHistory } from '@turnpike/storage';
import { sql } from 'kysely';

/** Tables of keys, tenants and budgets. */
export const ACCESS_HISTORY: SchemaHistory = {
  table: 'access_migrations',
  migrations: [
    {
      name: 'tenants, keys, budgets',
      async up(db) {
        const { schema } = db;
        await schema
          .createTable('tenants')
          .addColumn('id', 'text', (column) => column.primaryKey().notNull())
          .addColumn('name', 'text', (column) => column.notNull())
          .addColumn('created_at', 'bigint', (column) => column.notNull())
          .execute();
        await schema
          .createTable('api_keys')
          .addColumn('id', 'text', (column) => column.primaryKey().notNull())
          .addColumn('tenant', 'text', (column) => column.notNull().references('tenants.id'))
          .addColumn('name', 'text', (column) => column.notNull())
          .addColumn('prefix', 'text', (column) => column.notNull())
          .addColumn('hash', 'text', (column) => column.notNull().unique())
          .addColumn('previous_hash', 'text')
          .addColumn('previous_until', 'bigint')
          .addColumn('scopes', 'text', (column) => column.notNull())
          .addColumn('models', 'text')
          .addColumn('created_at', 'bigint', (column) => column.notNull())
          .addColumn('expires_at', 'bigint')
          .addColumn('revoked_at', 'bigint')
          .addColumn('rotated_at', 'bigint')
          .addColumn('last_used_at', 'bigint')
          .addColumn('revision', 'bigint', (column) => column.notNull())
          .execute();
        await schema
          .createTable('budgets')
          .addColumn('id', 'text', (column) => column.primaryKey().notNull())
          .addColumn('tenant', 'text', (column) => column.notNull())
          .addColumn('key', 'text')
          .addColumn('model', 'text')
          .addColumn('amount', 'bigint', (column) => column.notNull())
          .addColumn('period', 'text', (column) => column.notNull())
          .addColumn('shadow', 'integer', (column) => column.notNull())
          .addColumn('created_at', 'bigint', (column) => column.notNull())
          .addColumn('deleted_at', 'bigint')
          .addColumn('revision', 'bigint', (column) => column.notNull())
          .execute();
        await schema
          .createTable('access_revision')
          .addColumn('id', 'integer', (column) => column.primaryKey().notNull())
          .addColumn('revision', 'bigint', (column) => column.notNull())
          .execute();
        await sql`insert into access_revision (id, revision) values (1, 0)`.execute(db);
        for (const table of ['api_keys', 'budgets']) {
          const index = (name: string) => schema.createIndex(`${table}_by_${name}`).on(table);
          await index('revision').column('revision').execute();
          await index('tenant').columns(['tenant', 'created_at', 'id']).execute();
        }
      },
    },
  ],
};
