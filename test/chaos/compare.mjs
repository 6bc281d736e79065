// What the ledger has against what the engine says it produced.
import pg from 'pg';

const RESPONSE_ID = /resp_[0-9a-f]{48}/;

/** Tokens by response id, from the engine's own statement. */
export function producedBy(csv) {
  const produced = new Map();
  for (const line of csv.trim().split('\n').slice(1)) {
    const [name = '', , output = '0'] = line.split(',');
    const id = RESPONSE_ID.exec(name)?.[0];
    if (id === undefined) throw new Error(`the engine was asked by somebody else: ${line}`);
    produced.set(id, (produced.get(id) ?? 0) + Number(output));
  }
  return produced;
}

/** Usage rows of the ledger, and what is not as it should be in its books. */
export async function booksOf(databaseUrl) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const usage = await client.query(
      'select response_id, outcome, partial, output::int as output from ledger_usage',
    );
    const doubles = await client.query(
      "select response_id from ledger_transactions where kind = 'usage' group by response_id having count(*) > 1",
    );
    const unbalanced = await client.query(
      'select transaction_id from ledger_entries group by transaction_id having sum(amount) <> 0',
    );
    const balances = await client.query(
      `select b.account from ledger_balances b
       left join (select account, sum(amount) as total from ledger_entries group by account) e using (account)
       where b.balance <> coalesce(e.total, 0)`,
    );
    const amounts = await client.query(
      `select (select coalesce(sum(amount), 0) from ledger_usage)::text as usage,
              (select coalesce(sum(amount), 0) from ledger_entries where account like 'tenant:%')::text as entries`,
    );
    return {
      rows: new Map(usage.rows.map((row) => [row.response_id, row])),
      doubles: doubles.rows.length + (amounts.rows[0].usage === amounts.rows[0].entries ? 0 : 1),
      faults: unbalanced.rows.length + balances.rows.length,
    };
  } finally {
    await client.end();
  }
}

/**
 * Each response once: what the engine produced of it, what it was billed with, and what its client was told.
 * @param cutTokens most that may have been on its way when an engine was cut off: what it produces in the second within
 *   which it has to notice
 * @param progressTokens what a gateway that is killed may have received since it last wrote that down
 */
export function compare({ produced, books, told, cutTokens, progressTokens }) {
  const report = {
    responses: produced.size,
    produced: 0,
    billed: 0,
    exact: 0,
    cut: { turns: 0, tokens: 0, most: 0 },
    lostGateways: { turns: 0, tokens: 0, most: 0 },
    outcomes: {},
    lost: 0,
    double: books.doubles,
    unexplained: books.faults,
    details: [],
  };
  const odd = (id, text) => {
    report.unexplained++;
    report.details.push(`${id}: ${text}`);
  };
  for (const [id, tokens] of produced) {
    report.produced += tokens;
    const row = books.rows.get(id);
    if (row === undefined) {
      report.lost++;
      report.details.push(`${id}: the engine produced ${tokens} tokens, and nothing is billed`);
      continue;
    }
    const difference = tokens - row.output;
    const kind = row.outcome === 'lost' ? report.lostGateways : row.partial === 1 ? report.cut : undefined;
    if (kind !== undefined) {
      kind.turns++;
      kind.tokens += difference;
      kind.most = Math.max(kind.most, difference);
      const most = row.outcome === 'lost' ? progressTokens + cutTokens : cutTokens;
      if (difference < 0 || difference > most)
        odd(id, `${row.outcome}: produced ${tokens}, billed ${row.output}`);
    } else if (difference === 0) report.exact++;
    else odd(id, `${row.outcome}: produced ${tokens}, billed ${row.output}`);
  }
  for (const [id, row] of books.rows) {
    report.billed += row.output;
    report.outcomes[row.outcome] = (report.outcomes[row.outcome] ?? 0) + 1;
    if (row.output > 0 && !produced.has(id)) odd(id, `billed ${row.output} tokens that no engine produced`);
  }
  for (const [id, { status, usage }] of told.ended) {
    const output = usage?.output_tokens ?? 0;
    const row = books.rows.get(id);
    if (row === undefined && output > 0)
      odd(id, `its client was told of ${output} tokens, and nothing is billed`);
    if (row !== undefined && row.output !== output)
      odd(id, `${status}: told ${output}, billed ${row.output}`);
  }
  return report;
}
