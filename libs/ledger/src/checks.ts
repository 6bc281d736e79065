import type { DatabaseKind } from '@turnpike/storage';

/**
 * What the database itself makes sure of, whoever writes to it:
 *
 * - a transaction has at least two entries, and they add up to zero;
 * - nothing is added to a transaction that is there, so that the sum stays zero;
 * - an entry belongs to a transaction (a reference that is looked at on commit);
 * - what is booked is never changed or deleted.
 *
 * Entries are written first, and the transaction's own row closes them.
 */
export function checksFor(kind: DatabaseKind): readonly string[] {
  return kind === 'sqlite' ? SQLITE : POSTGRES;
}

const BALANCED = 'ledger: the entries of a transaction must be two or more and add up to zero';
const CLOSED = 'ledger: nothing can be added to a transaction that is booked';
const FINAL = 'ledger: what is booked cannot be changed';
/** Rows that never change. */
const BOOKED_TABLES = ['ledger_transactions', 'ledger_entries', 'ledger_usage'];

const SQLITE: readonly string[] = [
  `create trigger ledger_balanced before insert on ledger_transactions
   when (select count(*) < 2 or sum(amount) <> 0 from ledger_entries where transaction_id = new.id)
   begin select raise(abort, '${BALANCED}'); end`,
  `create trigger ledger_closed before insert on ledger_entries
   when exists (select 1 from ledger_transactions where id = new.transaction_id)
   begin select raise(abort, '${CLOSED}'); end`,
  ...BOOKED_TABLES.flatMap((table) =>
    ['update', 'delete'].map(
      (change) =>
        `create trigger ${table}_${change} before ${change} on ${table} begin select raise(abort, '${FINAL}'); end`,
    ),
  ),
];

const POSTGRES: readonly string[] = [
  `create function ledger_balanced() returns trigger language plpgsql as $$
   begin
     if (select count(*) < 2 or sum(amount) <> 0 from ledger_entries where transaction_id = new.id) then
       raise exception '${BALANCED}';
     end if;
     return new;
   end $$`,
  `create function ledger_closed() returns trigger language plpgsql as $$
   begin
     if exists (select 1 from ledger_transactions where id = new.transaction_id) then
       raise exception '${CLOSED}';
     end if;
     return new;
   end $$`,
  `create function ledger_final() returns trigger language plpgsql as $$
   begin raise exception '${FINAL}'; end $$`,
  `create trigger ledger_balanced before insert on ledger_transactions
   for each row execute function ledger_balanced()`,
  `create trigger ledger_closed before insert on ledger_entries for each row execute function ledger_closed()`,
  ...BOOKED_TABLES.map(
    (table) =>
      `create trigger ${table}_final before update or delete on ${table}
       for each row execute function ledger_final()`,
  ),
];
