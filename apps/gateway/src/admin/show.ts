import type { Answer } from './run-command.js';

/** Columns of lists. */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  tenant: ['id', 'name', 'created_at'],
  api_key: [
    'id',
    'tenant',
    'name',
    'redacted_value',
    'status',
    'scopes',
    'models',
    'expires_at',
    'last_used_at',
  ],
  budget: ['id', 'tenant', 'key', 'model', 'amount_usd', 'period', 'shadow'],
};

/** An answer for people: a list as a table, an object as a line a field. */
export function show(answer: Answer): string {
  if (!isList(answer)) {
    const width = Math.max(...Object.keys(answer).map(({ length }) => length));
    return Object.entries(answer)
      .filter(([name]) => name !== 'object')
      .map(([name, value]) => `${name.padEnd(width)}  ${cell(name, value)}\n`)
      .join('');
  }
  const [first] = answer;
  if (first === undefined) return 'none\n';
  const columns = COLUMNS[String(first['object'])] ?? Object.keys(first);
  const rows = [columns, ...answer.map((entry) => columns.map((name) => cell(name, entry[name])))];
  const widths = columns.map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)));
  return rows
    .map(
      (row) =>
        `${row
          .map((text, index) => text.padEnd(widths[index] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

function isList(answer: Answer): answer is Extract<Answer, readonly unknown[]> {
  return Array.isArray(answer);
}

function cell(name: string, value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (name.endsWith('_at') && typeof value === 'number') return new Date(value * 1000).toISOString();
  return Array.isArray(value) ? value.join(',') : JSON.stringify(value).replace(/^"|"$/g, '');
}
