import { dollars } from '@turnpike/metering';
import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import { ACCOUNT } from './accounts.js';
import { csv } from './csv.js';
import type { LedgerSchema } from './schema.js';
import { usageSums } from './usage-report.js';

/** What a tenant owes for a period; days are those of UTC, both included. */
export interface Invoice {
  readonly tenant: string;
  readonly from: string;
  readonly to: string;
  readonly currency: 'USD';
  readonly lines: readonly InvoiceLine[];
  /** Nano-dollars, as text: they may be more than a number holds. */
  readonly total_nano: string;
  readonly total_usd: string;
}

export interface InvoiceLine {
  /** `usage` of a model by a key, or what was decided about the tenant. */
  readonly kind: 'usage' | 'correction' | 'refund' | 'write_off' | 'payment';
  readonly key: string | null;
  readonly model: string | null;
  readonly price_version: string | null;
  readonly turns: number;
  readonly input_tokens: number;
  readonly cached_tokens: number;
  readonly output_tokens: number;
  readonly amount_nano: string;
  readonly amount_usd: string;
}

/** The invoice of a tenant. Its total is what the entries of the tenant's account say for those days. */
export async function invoiceFor(
  db: Kysely<LedgerSchema>,
  tenant: string,
  from: string,
  to: string,
): Promise<Invoice> {
  const usage = await usageSums(db, ['key', 'model', 'price_version'], { tenant, from, to });
  const decided = await db
    .selectFrom('ledger_transactions')
    .innerJoin('ledger_entries', 'transaction_id', 'id')
    .select([
      'kind',
      sql<string>`cast(count(*) as text)`.as('count'),
      sql<string>`cast(coalesce(sum(amount), 0) as text)`.as('amount'),
    ])
    .where('account', '=', ACCOUNT.tenant(tenant))
    .where('kind', '<>', 'usage')
    .where('day', '>=', from)
    .where('day', '<=', to)
    .groupBy('kind')
    .orderBy('kind')
    .execute();
  const lines = [
    ...usage
      .filter(({ turns }) => turns > 0)
      .map(({ group, turns, input, cached, output, amount }) => ({
        kind: 'usage' as const,
        key: group.key ?? null,
        model: group.model ?? null,
        // None, where nothing had a price.
        price_version: group.price_version === '' ? null : (group.price_version ?? null),
        turns,
        input_tokens: input,
        cached_tokens: cached,
        output_tokens: output,
        ...money(amount),
      })),
    ...decided.map(({ kind, count, amount }) => ({
      kind: kind as InvoiceLine['kind'],
      key: null,
      model: null,
      price_version: null,
      turns: Number(count),
      input_tokens: 0,
      cached_tokens: 0,
      output_tokens: 0,
      ...money(BigInt(amount)),
    })),
  ];
  return invoiceOf(tenant, from, to, lines);
}

/** The invoice of who used nothing. */
export function emptyInvoice(tenant: string, from: string, to: string): Invoice {
  return invoiceOf(tenant, from, to, []);
}

function invoiceOf(tenant: string, from: string, to: string, lines: readonly InvoiceLine[]): Invoice {
  const total = lines.reduce((sum, { amount_nano }) => sum + BigInt(amount_nano), 0n);
  const total_usd = dollars(total);
  return { tenant, from, to, currency: 'USD', lines, total_nano: String(total), total_usd };
}

const COLUMNS = [
  'kind',
  'key',
  'model',
  'price_version',
  'turns',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'amount_nano',
  'amount_usd',
] as const satisfies readonly (keyof InvoiceLine)[];

/** The lines of an invoice as CSV, the total as the last one. */
export function invoiceCsv({ lines, total_nano, total_usd }: Invoice): string {
  const rows = lines.map((line) => COLUMNS.map((column) => line[column] ?? ''));
  const total = COLUMNS.map((column) => {
    if (column === 'kind') return 'total';
    return column === 'amount_nano' ? total_nano : column === 'amount_usd' ? total_usd : '';
  });
  return csv(COLUMNS, [...rows, total]);
}

function money(amount: bigint): Pick<InvoiceLine, 'amount_nano' | 'amount_usd'> {
  return { amount_nano: String(amount), amount_usd: dollars(amount) };
}
