import { dollars, NANO_PER_DOLLAR, scaled } from '@turnpike/metering';
import { ApiError, quotable } from '@turnpike/protocol';
import { ACCOUNT } from './accounts.js';
import { ExceedsCharge, type Decision, type Ledger } from './ledger.js';

export const DECISION_KINDS = [
  'refund',
  'write_off',
  'payment',
] as const satisfies readonly Decision['kind'][];

/** A decision as it is asked for, by a program, in a form or on the command line. */
export const DECISION_FIELDS = ['id', 'kind', 'tenant', 'amount_usd', 'reason', 'response_id'] as const;

export interface DecisionOptions {
  /** Who decides. */
  readonly author: string;
  /** Whether there is such a tenant, of whom nothing may be booked yet. */
  readonly isTenant: (id: string) => Promise<boolean>;
}

/** What was booked. */
export interface Decided extends Omit<Decision, 'amount'> {
  readonly amount_usd: string;
  /** False when the same had been booked before. */
  readonly booked: boolean;
}

const MOST_DOLLARS = 9_000_000n;
const ID = /^[A-Za-z0-9][\w.:-]{0,99}$/;

/**
 * Books a payment, a refund or a write-off that somebody asks for.
 * @param fields as they came: {@link DECISION_FIELDS}
 * @throws ApiError naming the field at fault
 */
export async function bookDecision(
  ledger: Ledger,
  fields: unknown,
  { author, isTenant }: DecisionOptions,
): Promise<Decided> {
  const { amount, ...decision } = { ...parseDecision(fields), author };
  const { id, kind, tenant, responseId } = decision;
  if (!(await ledger.hasAccount(tenant)) && !(await isTenant(tenant))) {
    throw invalid('tenant', `There is no tenant '${quotable(tenant)}'.`);
  }
  if (responseId !== undefined) await requireUsage(ledger, tenant, responseId);
  const booked = await ledger.decide({ ...decision, amount }).catch(async (thrown: unknown) => {
    // Of two that come at once one is refused by the database.
    if (await isSame(ledger, { ...decision, amount })) return false;
    if (!(thrown instanceof ExceedsCharge)) throw thrown;
    const charged = dollars(thrown.charged);
    throw invalid('amount_usd', `'amount_usd' is more than the response has come to: ${charged}.`);
  });
  if (!booked && !(await isSame(ledger, { ...decision, amount }))) {
    throw invalid('id', `There is another ${kind} '${quotable(id)}' already.`);
  }
  return { ...decision, amount_usd: dollars(amount), booked };
}

function parseDecision(given: unknown): Omit<Decision, 'author'> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new ApiError('invalid_type', { message: 'The body must be a JSON object.' });
  }
  const fields = given as Readonly<Record<string, unknown>>;
  const unknown = Object.keys(fields).find((name) => !DECISION_FIELDS.some((each) => each === name));
  if (unknown !== undefined) {
    const param = quotable(unknown);
    throw new ApiError('unsupported_parameter', { param, message: `There is no parameter '${param}'.` });
  }
  const id = textOf(fields, 'id', 100);
  if (!ID.test(id)) throw invalid('id', "An 'id' has letters, digits, '.', '_', ':' or '-'.");
  const kind = DECISION_KINDS.find((each) => each === textOf(fields, 'kind', 20));
  if (kind === undefined) throw invalid('kind', `'kind' must be one of ${DECISION_KINDS.join(', ')}.`);
  const tenant = textOf(fields, 'tenant', 512);
  const amount = amountOf(fields['amount_usd']);
  const reason = textOf(fields, 'reason', 500);
  if (fields['response_id'] === undefined) return { id, kind, tenant, amount, reason };
  if (kind === 'payment') throw invalid('response_id', 'A payment is of a tenant, not for a response.');
  return { id, kind, tenant, amount, reason, responseId: textOf(fields, 'response_id', 128) };
}

function textOf(fields: Readonly<Record<string, unknown>>, name: string, most: number): string {
  const value = fields[name];
  if (value === undefined || value === '') throw missing(name);
  if (typeof value !== 'string') throw invalid(name, `'${name}' must be text.`);
  const text = value.trim();
  if (text === '') throw missing(name);
  if (text.length > most) throw invalid(name, `'${name}' has at most ${most} characters.`);
  if (/\p{Cc}/u.test(text)) throw invalid(name, `'${name}' must not have control characters.`);
  return text;
}

/** Nano-dollars of an amount in dollars, of which a row holds somewhat more than that. */
function amountOf(value: unknown): bigint {
  if (value === undefined || value === '') throw missing('amount_usd');
  if (typeof value !== 'string' && typeof value !== 'number') {
    throw invalid('amount_usd', '\'amount_usd\' must be dollars, as "12.50".');
  }
  let amount: bigint;
  try {
    amount = scaled(typeof value === 'string' ? value.trim() : value);
  } catch (thrown) {
    throw invalid('amount_usd', `'amount_usd': ${(thrown as Error).message}.`);
  }
  if (amount === 0n) throw invalid('amount_usd', "'amount_usd' must be more than nothing.");
  if (amount > MOST_DOLLARS * NANO_PER_DOLLAR) {
    throw invalid('amount_usd', `'amount_usd' must be at most ${MOST_DOLLARS}.`);
  }
  return amount;
}

async function requireUsage({ db }: Ledger, tenant: string, responseId: string): Promise<void> {
  const row = await db
    .selectFrom('ledger_usage')
    .select('response_id')
    .where('response_id', '=', responseId)
    .where('tenant', '=', tenant)
    .executeTakeFirst();
  if (row === undefined) {
    throw invalid('response_id', `'${quotable(tenant)}' was charged for no response of that id.`);
  }
}

async function isSame(
  { db }: Ledger,
  { id, kind, tenant, responseId, amount }: Omit<Decision, 'author' | 'reason'>,
) {
  const row = await db
    .selectFrom('ledger_transactions')
    .innerJoin('ledger_entries', 'transaction_id', 'id')
    .select(['response_id', 'amount'])
    .where('id', '=', `${kind}:${id}`)
    .where('account', '=', ACCOUNT.tenant(tenant))
    .executeTakeFirst();
  return row !== undefined && row.response_id === (responseId ?? null) && BigInt(-row.amount) === amount;
}

function missing(param: string): ApiError {
  return new ApiError('missing_required_parameter', { param, message: `'${param}' is required.` });
}

function invalid(param: string, message: string): ApiError {
  return new ApiError('invalid_value', { param, message });
}
