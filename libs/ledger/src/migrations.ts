import type { Migration, SchemaHistory } from '@turnpike/storage';
import { sql } from 'kysely';
import { checksFor } from './checks.js';

const FIRST: Migration = {
  name: 'usage, transactions, entries, balances, spend, holds, dead letters',
  async up(db, kind) {
    const { schema } = db;
    await schema
      .createTable('ledger_usage')
      .addColumn('response_id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('key', 'text', (column) => column.notNull())
      .addColumn('model', 'text', (column) => column.notNull())
      .addColumn('engine', 'text', (column) => column.notNull())
      .addColumn('transport', 'text', (column) => column.notNull())
      .addColumn('outcome', 'text', (column) => column.notNull())
      .addColumn('partial', 'integer', (column) => column.notNull())
      .addColumn('rule', 'text', (column) => column.notNull())
      .addColumn('price_version', 'text')
      .addColumn('amount', 'bigint', (column) => column.notNull())
      .addColumn('input', 'bigint', (column) => column.notNull())
      .addColumn('cached', 'bigint', (column) => column.notNull())
      .addColumn('cache_write', 'bigint', (column) => column.notNull())
      .addColumn('output', 'bigint', (column) => column.notNull())
      .addColumn('reasoning', 'bigint', (column) => column.notNull())
      .addColumn('image', 'bigint', (column) => column.notNull())
      .addColumn('stored', 'integer', (column) => column.notNull())
      .addColumn('day', 'text', (column) => column.notNull())
      .addColumn('admitted_at', 'bigint', (column) => column.notNull())
      .addColumn('settled_at', 'bigint', (column) => column.notNull())
      .addColumn('booked_at', 'bigint', (column) => column.notNull())
      .addColumn('journal', 'text', (column) => column.notNull())
      .addColumn('sequence', 'bigint', (column) => column.notNull())
      .addColumn('record', 'text', (column) => column.notNull())
      .execute();
    const index = (table: string, name: string, columns: string[]) =>
      schema.createIndex(`${table}_by_${name}`).on(table).columns(columns).execute();
    await index('ledger_usage', 'tenant', ['tenant', 'day']);
    await index('ledger_usage', 'day', ['day']);
    await index('ledger_usage', 'journal', ['journal', 'sequence']);
    await schema
      .createTable('ledger_transactions')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('response_id', 'text')
      .addColumn('day', 'text', (column) => column.notNull())
      .addColumn('booked_at', 'bigint', (column) => column.notNull())
      .addColumn('reason', 'text')
      .addColumn('author', 'text')
      .addColumn('price_version', 'text')
      .execute();
    await index('ledger_transactions', 'response', ['response_id']);
    await index('ledger_transactions', 'tenant', ['tenant', 'day']);
    await createEntries(db);
    await index('ledger_entries', 'account', ['account']);
    await schema
      .createTable('ledger_balances')
      .addColumn('account', 'text', (column) => column.primaryKey().notNull())
      .addColumn('balance', 'bigint', (column) => column.notNull())
      .addColumn('entries', 'bigint', (column) => column.notNull())
      .execute();
    await schema
      .createTable('ledger_spend')
      .addColumn('subject', 'text', (column) => column.notNull())
      .addColumn('time_window', 'text', (column) => column.notNull())
      .addColumn('spent', 'bigint', (column) => column.notNull())
      .addColumn('held', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('ledger_spend_key', ['subject', 'time_window'])
      .execute();
    await schema
      .createTable('ledger_holds')
      .addColumn('response_id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('tenant', 'text', (column) => column.notNull())
      .addColumn('amount', 'bigint', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('counted_in', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .execute();
    await index('ledger_holds', 'state', ['state', 'expires_at']);
    await schema
      .createTable('ledger_dead_letters')
      .addColumn('id', 'text', (column) => column.primaryKey().notNull())
      .addColumn('job', 'text', (column) => column.notNull())
      .addColumn('response_id', 'text')
      .addColumn('tenant', 'text')
      .addColumn('reason', 'text', (column) => column.notNull())
      .addColumn('payload', 'text', (column) => column.notNull())
      .addColumn('failed_at', 'bigint', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('resolved_at', 'bigint')
      .addColumn('resolution', 'text')
      .addColumn('author', 'text')
      .execute();
    await index('ledger_dead_letters', 'state', ['state', 'failed_at']);
    for (const check of checksFor(kind)) await sql.raw(check).execute(db);
  },
};

const JOB: Migration = {
  name: 'the job that usage came in',
  async up({ schema }) {
    await schema.alterTable('ledger_usage').addColumn('job', 'text').execute();
  },
};

/** Entries come before their transaction, which closes them: the reference is looked at when everything is there. */
async function createEntries({ schema }: Parameters<Migration['up']>[0]): Promise<void> {
  await schema
    .createTable('ledger_entries')
    .addColumn('transaction_id', 'text', (column) => column.notNull())
    .addColumn('position', 'integer', (column) => column.notNull())
    .addColumn('account', 'text', (column) => column.notNull())
    .addColumn('amount', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('ledger_entries_key', ['transaction_id', 'position'])
    .addForeignKeyConstraint(
      'ledger_entries_transaction',
      ['transaction_id'],
      'ledger_transactions',
      ['id'],
      (constraint) => constraint.deferrable().initiallyDeferred(),
    )
    .execute();
}

/** The ledger's tables. */
export const LEDGER_HISTORY: SchemaHistory = { table: 'ledger_migrations', migrations: [FIRST, JOB] };
