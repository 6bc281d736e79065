import type { Kysely } from 'kysely';
import { sql } from 'kysely';
import type { Ledger, LedgerFault } from './ledger.js';
import type { LedgerSchema } from './schema.js';

/** What is known outside of the ledger. */
export interface OtherBooks {
  /** Response ids that journals have settled and not yet delivered; undefined where they cannot be read. */
  readonly journal: ReadonlySet<string> | undefined;
  /** Response ids in jobs that are not done. */
  readonly queue: ReadonlySet<string>;
}

/** One difference, with what explains it; `unexplained` is one that somebody has to look at. */
export interface Difference {
  readonly responseId: string;
  readonly between: 'store and ledger' | 'holds and ledger' | 'dead letters';
  readonly explanation:
    /** Settled, and on its way. */
    | 'in the journal'
    | 'in the queue'
    /** Kept apart because it could not be booked. */
    | 'dead letter'
    /** It never reached an engine: there is nothing to bill. */
    | 'abandoned'
    /** Nowhere that can be read from here, and journals cannot. */
    | 'in a journal, or unexplained'
    | 'unexplained';
  readonly detail: string;
}

export interface Reconciliation {
  readonly turns: number;
  /** Stored responses that were compared. */
  readonly stored: number;
  readonly differences: readonly Difference[];
  readonly faults: readonly LedgerFault[];
}

const PAGE = 500;
const UNSURE = 'in a journal, or unexplained';

/**
 * Compares stored responses, journals, queue and ledger, and explains each difference. On a platform that runs, what is
 * settled meanwhile is found nowhere at the first look: what nobody can explain is looked for again, and stands if it is
 * still nowhere.
 * @param read what is known outside of the ledger; journals before the queue, which is the way that usage takes
 */
export async function reconcile(ledger: Ledger, read: () => Promise<OtherBooks>): Promise<Reconciliation> {
  const first = await reconcileOnce(ledger, await read());
  const doubtful = new Set(first.differences.filter(isDoubtful).map(nameOf));
  if (doubtful.size === 0) return first;
  const second = await reconcileOnce(ledger, await read());
  const differences = second.differences.filter((each) => !isDoubtful(each) || doubtful.has(nameOf(each)));
  return { ...second, differences };
}

function isDoubtful({ explanation }: Difference): boolean {
  return explanation === 'unexplained' || explanation === UNSURE;
}

function nameOf({ responseId, between }: Difference): string {
  return `${between} ${responseId}`;
}

async function reconcileOnce(ledger: Ledger, others: OtherBooks): Promise<Reconciliation> {
  const differences: Difference[] = [];
  let stored = 0;
  for (let after = ''; ;) {
    const page = await storedAfter(ledger.db, after);
    stored += page.length;
    for (const row of page) {
      const difference = compare(row, others);
      if (difference !== undefined) differences.push(difference);
    }
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) break;
    after = last.id;
  }
  differences.push(...(await holdDifferences(ledger.db, others)), ...(await openLetters(ledger.db)));
  const { turns } = await ledger.db
    .selectFrom('ledger_usage')
    .select(sql<string>`cast(count(*) as text)`.as('turns'))
    .executeTakeFirstOrThrow();
  return { turns: Number(turns), stored, differences, faults: await ledger.verify() };
}

interface StoredRow {
  readonly id: string;
  readonly body: string;
  readonly input: number | null;
  readonly output: number | null;
  readonly letter: string | null;
}

/** Stored responses with what the ledger has of them. Conversations that were compacted have nodes of their own. */
function storedAfter(db: Kysely<LedgerSchema>, after: string): Promise<StoredRow[]> {
  return db
    .selectFrom('responses')
    .leftJoin('ledger_usage', 'ledger_usage.response_id', 'responses.id')
    .leftJoin('ledger_dead_letters', 'ledger_dead_letters.response_id', 'responses.id')
    .select(['responses.id', 'body', 'input', 'output', 'ledger_dead_letters.id as letter'])
    .where('responses.id', '>', after)
    .orderBy('responses.id')
    .limit(PAGE)
    .execute();
}

/** Where something is that the ledger has not got; undefined when nobody has it. */
function whereIs(
  { id, letter }: Pick<StoredRow, 'id' | 'letter'>,
  { journal, queue }: OtherBooks,
): Difference['explanation'] | undefined {
  if (journal?.has(id) === true) return 'in the journal';
  if (queue.has(id)) return 'in the queue';
  return letter === null ? undefined : 'dead letter';
}

function unexplained({ journal }: OtherBooks): Difference['explanation'] {
  return journal === undefined ? UNSURE : 'unexplained';
}

function compare(row: StoredRow, others: OtherBooks): Difference | undefined {
  const { usage, status } = JSON.parse(row.body) as {
    status: string;
    usage: { input_tokens: number; output_tokens: number } | null;
  };
  const between = 'store and ledger' as const;
  if (row.input !== null) {
    const [input, output] = [usage?.input_tokens ?? 0, usage?.output_tokens ?? 0];
    if (input === row.input && output === row.output) return undefined;
    const detail = `stored ${input}+${output} tokens, billed ${row.input}+${row.output}`;
    return { responseId: row.id, between, explanation: 'unexplained', detail };
  }
  const isAbandoned = status !== 'completed' && (usage?.output_tokens ?? 0) === 0;
  const known = isAbandoned ? 'abandoned' : undefined;
  const explanation = whereIs(row, others) ?? known ?? unexplained(others);
  return { responseId: row.id, between, explanation, detail: `stored as ${status}, not in the ledger` };
}

/** Bills that wait for their booking, though nothing is on its way: their journal is lost. */
async function holdDifferences(db: Kysely<LedgerSchema>, others: OtherBooks): Promise<Difference[]> {
  const rows = await db
    .selectFrom('ledger_holds')
    .leftJoin('ledger_dead_letters', 'ledger_dead_letters.response_id', 'ledger_holds.response_id')
    .select(['ledger_holds.response_id as id', 'amount', 'ledger_dead_letters.id as letter'])
    .where('ledger_holds.state', '=', 'settled')
    .execute();
  return rows.map(({ amount, ...row }) => ({
    responseId: row.id,
    between: 'holds and ledger',
    explanation: whereIs(row, others) ?? unexplained(others),
    detail: `${amount} nano-dollars wait for their booking`,
  }));
}

async function openLetters(db: Kysely<LedgerSchema>): Promise<Difference[]> {
  const rows = await db
    .selectFrom('ledger_dead_letters')
    .select(['response_id', 'job', 'reason'])
    .where('state', '=', 'open')
    .execute();
  return rows.map(({ response_id, job, reason }) => ({
    responseId: response_id ?? job,
    between: 'dead letters',
    explanation: 'dead letter',
    detail: reason,
  }));
}
