import type { UsageRow } from './schema.js';
import type { Ledger } from './ledger.js';

/** What somebody else counted for one response: an engine's own log, or the statement of a provider. */
export interface StatementLine {
  readonly responseId: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Where a statement and the ledger differ. */
export interface StatementDifference {
  readonly responseId: string;
  /**
   * `missing_here`: the statement has it, the ledger does not. `missing_there`: the other way round. `cut`: the turn was cut
   * off, and the engine produced what was still on its way. `tokens`: they counted differently.
   */
  readonly kind: 'missing_here' | 'missing_there' | 'cut' | 'tokens';
  readonly input: readonly [ledger: number, statement: number];
  readonly output: readonly [ledger: number, statement: number];
}

/** Names that columns have in the statements of providers. */
const COLUMNS = {
  responseId: ['response_id', 'request_id', 'id'],
  inputTokens: ['input_tokens', 'prompt_tokens'],
  outputTokens: ['output_tokens', 'completion_tokens'],
} as const;

/** Ours, in whatever an engine made of it. */
const RESPONSE_ID = /resp_[0-9a-f]{48}/;

/** A statement that cannot be read; the message says where. */
export class StatementError extends Error {
  override readonly name = 'StatementError';
}

/** What some programs put before a CSV. */
const BYTE_ORDER_MARK = /^\uFEFF/;

/**
 * A statement from its CSV, with a header line. Several lines of one response are added up.
 * @throws StatementError naming the line at fault
 */
export function parseStatement(csv: string): readonly StatementLine[] {
  const [{ cells: header } = { cells: [] }, ...rows] = csv
    .replace(BYTE_ORDER_MARK, '')
    .split(/\r?\n/)
    .map((line, index) => ({ number: index + 1, cells: line.trim() === '' ? [] : cellsOf(line) }))
    .filter(({ cells }) => cells.length > 0);
  const at = (names: readonly string[]) => {
    const index = header.findIndex((name) => names.includes(name.trim().toLowerCase()));
    if (index === -1) throw new StatementError(`the statement has no column named ${names.join(' or ')}`);
    return index;
  };
  const columns = {
    id: at(COLUMNS.responseId),
    input: at(COLUMNS.inputTokens),
    output: at(COLUMNS.outputTokens),
  };
  const lines = new Map<string, StatementLine>();
  for (const { number, cells } of rows) {
    const id = cells[columns.id] ?? '';
    const responseId = RESPONSE_ID.exec(id)?.[0] ?? id;
    const [input, output] = [cells[columns.input], cells[columns.output]].map(countIn);
    if (responseId === '' || input === undefined || output === undefined) {
      throw new StatementError(`line ${number} of the statement is not an id with two counts`);
    }
    const before = lines.get(responseId);
    lines.set(responseId, {
      responseId,
      inputTokens: Math.max(before?.inputTokens ?? 0, input),
      outputTokens: (before?.outputTokens ?? 0) + output,
    });
  }
  return [...lines.values()];
}

/**
 * Compares a statement with what the ledger has of the same engine and days.
 * @param filter UTC days, both included
 */
export async function compareStatement(
  ledger: Ledger,
  statement: readonly StatementLine[],
  filter: { readonly engine?: string | undefined; readonly from: string; readonly to: string },
): Promise<readonly StatementDifference[]> {
  let query = ledger.db
    .selectFrom('ledger_usage')
    .select(['response_id', 'input', 'output', 'partial'])
    .where('day', '>=', filter.from)
    .where('day', '<=', filter.to);
  if (filter.engine !== undefined) query = query.where('engine', '=', filter.engine);
  const own = new Map((await query.execute()).map((row) => [row.response_id, row]));
  const differences: StatementDifference[] = [];
  for (const line of statement) {
    const row = own.get(line.responseId);
    own.delete(line.responseId);
    const difference = differenceOf(line, row);
    if (difference !== undefined) differences.push(difference);
  }
  for (const { response_id, input, output } of own.values()) {
    // A warm-up and an engine that could not be reached are nothing that the engine knows of.
    if (output === 0) continue;
    differences.push({
      responseId: response_id,
      kind: 'missing_there',
      input: [input, 0],
      output: [output, 0],
    });
  }
  return differences;
}

function differenceOf(
  { responseId, inputTokens, outputTokens }: StatementLine,
  row: Pick<UsageRow, 'input' | 'output' | 'partial'> | undefined,
): StatementDifference | undefined {
  const input = [row?.input ?? 0, inputTokens] as const;
  const output = [row?.output ?? 0, outputTokens] as const;
  if (row === undefined) return { responseId, kind: 'missing_here', input, output };
  if (row.output === outputTokens) return undefined;
  const isCut = row.partial === 1 && outputTokens > row.output;
  return { responseId, kind: isCut ? 'cut' : 'tokens', input, output };
}

function countIn(cell = ''): number | undefined {
  const count = /^\s*\d+\s*$/.test(cell) ? Number(cell) : NaN;
  return Number.isSafeInteger(count) ? count : undefined;
}

/** Cells of a line; quotes keep commas together. */
function cellsOf(line: string): string[] {
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,"]*))/g)].map(([, quoted, plain = '']) =>
    quoted === undefined ? plain : quoted.replaceAll('""', '"'),
  );
}
