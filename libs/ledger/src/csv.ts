/**
 * A table as CSV (RFC 4180). A cell that a spreadsheet would take for a formula, also by the full-width signs of some
 * languages, gets a quote in front: names of keys and models come from people.
 */
export function csv(columns: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return [columns, ...rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

function cell(value: string | number): string {
  const text =
    typeof value === 'string' && /^[=+\-@\t\r\n＝＋－＠]/.test(value) && !/^-?[\d.]+$/.test(value)
      ? `'${value}`
      : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
