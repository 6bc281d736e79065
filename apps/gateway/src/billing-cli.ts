import 'reflect-metadata';
import {
  compareStatement,
  invoiceCsv,
  invoiceFor,
  Ledger,
  parseStatement,
  reconcile,
  rerate,
  type Difference,
  type StatementDifference,
} from '@turnpike/ledger';
import { dayOf, dollars, pendingIn, UsageQueue } from '@turnpike/metering';
import { openDatabase, spooledIn } from '@turnpike/storage';
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { pricesOf } from './billing/billing.js';
import { ConfigError, loadConfig } from './config/load.js';
import type { Config } from './config/schema.js';
import { targetOf } from './stores.js';

const HELP = `Accounts of a gateway's database and journals

Usage: npm run reconcile -- [--config FILE] [--json FILE]
         stored responses = journal = queue = ledger, each difference explained
       npm run reconcile -- --statement FILE.csv [--engine NAME] [--from DAY] [--to DAY]
         an engine's or a provider's own count against the ledger
       npm run invoice -- --tenant NAME --from DAY --to DAY [--csv]
       npm run rerate -- --from DAY --to DAY --reason TEXT --author NAME [--tenant NAME] [--version NAME]
         books what turns cost by the price book now, where it differs, as corrections

Days are those of UTC, as 2026-01-31. The exit code is 1 when something is unexplained.
`;

/** Jobs that are looked through. */
const MOST_JOBS = 100_000;

type Values = Partial<Record<string, string | boolean>>;

async function main([command = 'help', ...rest]: readonly string[]): Promise<number> {
  const options = Object.fromEntries(
    ['config', 'json', 'statement', 'engine', 'from', 'to', 'tenant', 'reason', 'author', 'version'].map(
      (name) => [name, { type: 'string' as const }],
    ),
  );
  const { values }: { values: Values } = parseArgs({
    args: rest,
    options: { ...options, csv: { type: 'boolean' } },
  });
  if (command === 'help') return say(HELP);
  const config = loadConfig(text(values, 'config'), process.env);
  const target = targetOf(config.store);
  if (target === undefined) throw new ConfigError('store.kind: a store in memory has no accounts to look at');
  const db = await openDatabase(target, () => undefined);
  try {
    const ledger = await Ledger.open(db, target.kind);
    if (command === 'invoice') return await invoice(ledger, values);
    if (command === 'rerate') return await rerateTurns(ledger, config, values);
    return values['statement'] === undefined
      ? await reconcileAll(ledger, config, text(values, 'json'))
      : await statement(ledger, values);
  } finally {
    await db.destroy();
  }
}

async function reconcileAll(ledger: Ledger, config: Config, json: string | undefined): Promise<number> {
  const journal = await pendingIn(config.billing.journal);
  const queue = await queued(config.billing.redis);
  const spool = await spooledIn(config.store.spool);
  const { turns, stored, differences, faults } = await reconcile(ledger, { journal, queue, spool });
  const unexplained = differences.filter(({ explanation }) => explanation === 'unexplained');
  say(`turns in the ledger  ${turns}\nstored responses     ${stored}\n`);
  say(
    `in journals          ${journal.size}\nin the queue         ${queue.size}\nin spools            ${spool.size}\n`,
  );
  for (const [explanation, each] of grouped(differences)) say(`${explanation}: ${each.length}\n`);
  for (const { responseId, between, detail } of unexplained) {
    say(`  unexplained: ${responseId} (${between}): ${detail}\n`);
  }
  for (const { what, name, expected, found } of faults) {
    say(`  ${what} of ${name}: entries say ${expected}, found ${found}\n`);
  }
  if (json !== undefined) {
    writeFileSync(json, JSON.stringify({ turns, stored, differences, faults }, undefined, 2));
  }
  say(`differences=${differences.length} unexplained=${unexplained.length} faults=${faults.length}\n`);
  return unexplained.length + faults.length > 0 ? 1 : 0;
}

function grouped(differences: readonly Difference[]): Map<string, Difference[]> {
  const groups = new Map<string, Difference[]>();
  for (const each of differences) {
    groups.set(each.explanation, [...(groups.get(each.explanation) ?? []), each]);
  }
  return groups;
}

/** Response ids in the queue; none where there is none. */
async function queued(url: string | undefined): Promise<ReadonlySet<string>> {
  if (url === undefined) return new Set();
  const queue = new UsageQueue({ url, onError: () => undefined });
  try {
    return new Set(await queue.pending(MOST_JOBS));
  } finally {
    await queue.close();
  }
}

async function statement(ledger: Ledger, values: Values): Promise<number> {
  const lines = parseStatement(readFileSync(required(values, 'statement'), 'utf8'));
  const differences = await compareStatement(ledger, lines, {
    engine: text(values, 'engine'),
    from: text(values, 'from') ?? '0000-01-01',
    to: text(values, 'to') ?? '9999-12-31',
  });
  for (const difference of differences) say(lineOf(difference));
  const cut = differences.filter(({ kind }) => kind === 'cut').length;
  say(`lines=${lines.length} differences=${differences.length} cut=${cut}\n`);
  return differences.length > cut ? 1 : 0;
}

function lineOf({ responseId, kind, input, output }: StatementDifference): string {
  return `${kind} ${responseId}: input ${input.join(' / ')}, output ${output.join(' / ')} (ledger / statement)\n`;
}

async function invoice(ledger: Ledger, values: Values): Promise<number> {
  const made = await invoiceFor(
    ledger.db,
    required(values, 'tenant'),
    text(values, 'from') ?? `${dayOf(Date.now()).slice(0, 7)}-01`,
    text(values, 'to') ?? dayOf(Date.now()),
  );
  return say(values['csv'] === true ? invoiceCsv(made) : `${JSON.stringify(made, undefined, 2)}\n`);
}

async function rerateTurns(ledger: Ledger, config: Config, values: Values): Promise<number> {
  const { turns, corrected, difference } = await rerate(ledger, {
    prices: pricesOf(config),
    version: text(values, 'version'),
    tenant: text(values, 'tenant'),
    from: required(values, 'from'),
    to: required(values, 'to'),
    reason: required(values, 'reason'),
    author: required(values, 'author'),
  });
  return say(`turns=${turns} corrected=${corrected} difference_usd=${dollars(difference)}\n`);
}

function text(values: Values, name: string): string | undefined {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
}

/** @throws ConfigError when it is not there */
function required(values: Values, name: string): string {
  const value = text(values, name);
  if (value === undefined) throw new ConfigError(`--${name} is missing\n\n${HELP}`);
  return value;
}

function say(line: string): number {
  process.stdout.write(line);
  return 0;
}

main(process.argv.slice(2)).then(
  (code) => (process.exitCode = code),
  (thrown: unknown) => {
    const known = thrown instanceof ConfigError;
    process.stderr.write(`${known ? thrown.message : ((thrown as Error).stack ?? String(thrown))}\n`);
    process.exitCode = known ? 2 : 1;
  },
);
