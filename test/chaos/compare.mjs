// What the ledger has against what the engine says it produced.
import pg from 'pg';

/** The response that an engine was asked for, by what the request was called. */
export function responseOf(requestId) {
  const id = /resp_[0-9a-f]{48}/.exec(requestId)?.[0];
  if (id === undefined) throw new Error(`the engine was asked by somebody else: ${requestId}`);
  return id;
}

/** Tokens by response id, from the engine's own statement. */
export function producedBy(csv) {
  const produced = new Map();
  for (const line of csv.trim().split('\n').slice(1)) {
    const [name = '', , output = '0'] = line.split(',');
    const id = responseOf(name);
    produced.set(id, (produced.get(id) ?? 0) + Number(output));
  }
  return produced;
}

/** Usage rows of the ledger, what is not as it should be in its books, and the responses that are stored. */
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
    const stored = await client.query('select id from responses');
    return {
      stored: new Set(stored.rows.map(({ id }) => id)),
      rows: new Map(usage.rows.map((row) => [row.response_id, row])),
      doubles: doubles.rows.length + (amounts.rows[0].usage === amounts.rows[0].entries ? 0 : 1),
      faults: unbalanced.rows.length + balances.rows.length,
    };
  } finally {
    await client.end();
  }
}

/** Responses that a client was told had been stored, and that are not. */
export function unstored(told, { stored }) {
  return [...told.ended].filter(([id, { store }]) => store && !stored.has(id)).map(([id]) => id);
}

/**
 * Each response once: what the engine produced of it, what it was billed with, and what its client was told. Both counts are
 * the same, to the token, unless the gateway itself was killed. Then it is billed less than it had read, by less than one
 * progress interval; what it had not read is what the engine wrote for nobody. Of each kill one response may lack more: the
 * one that the gateway was at, which had read and not yet counted.
 * @param progressTokens tokens between two progress records of a gateway
 * @param deaths for each kill of a gateway, the tokens that it had read, by response id
 */
export function compare({ produced, books, told, progressTokens, deaths }) {
  const report = {
    responses: produced.size,
    produced: 0,
    billed: 0,
    exact: 0,
    cut: { turns: 0, tokens: 0, most: 0 },
    lostGateways: { turns: 0, tokens: 0, most: 0, unread: 0, inHand: 0 },
    silent: told.silent.length,
    outcomes: {},
    /** Told of and stored. */
    stored: [...told.ended.values()].filter(({ store }) => store).length,
    lost: 0,
    double: books.doubles,
    unexplained: books.faults,
    details: [],
  };
  const odd = (id, text) => {
    report.unexplained++;
    report.details.push(`${id}: ${text}`);
  };
  for (const id of unstored(told, books)) {
    report.lost++;
    report.stored--;
    report.details.push(`${id}: its client was told of it, and it is not stored`);
  }
  for (const line of told.silent) odd(line, 'its gateway lived, and it heard nothing more');
  const atHand = new Set();
  for (const [id, tokens] of produced) {
    report.produced += tokens;
    const row = books.rows.get(id);
    if (row === undefined) {
      report.lost++;
      report.details.push(`${id}: the engine produced ${tokens} tokens, and nothing is billed`);
      continue;
    }
    if (tokens === row.output) report.exact++;
    const isLost = row.outcome === 'lost';
    const death = isLost ? deaths.findLast((read) => read.has(id)) : undefined;
    const read = death?.get(id) ?? tokens;
    const difference = read - row.output;
    if (isLost || row.partial === 1) {
      const kind = isLost ? report.lostGateways : report.cut;
      kind.turns++;
      kind.tokens += difference;
      kind.most = Math.max(kind.most, Math.abs(difference));
    }
    if (isLost) {
      report.lostGateways.unread += tokens - read;
      if (row.partial !== 1) odd(id, 'was settled for a gateway that died, and is not flagged');
    }
    const most = isLost ? progressTokens - 1 : 0;
    if (difference > most && death !== undefined && !atHand.has(death)) {
      atHand.add(death);
      report.lostGateways.inHand++;
    } else if (difference < 0 || difference > most)
      odd(id, `${row.outcome}: produced ${tokens}, read ${read}, billed ${row.output}`);
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
