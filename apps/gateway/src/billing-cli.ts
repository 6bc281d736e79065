import 'reflect-metadata';
import { SqlAccess } from '@turnpike/access';
import {
  bookDecision,
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
import { dollars, pendingIn, UsageQueue } from '@turnpike/metering';
import { openDatabase, spooledIn } from '@turnpike/storage';
import { readFileSync, writeFileSync } from 'node:fs';
import {
  ACCOUNTS_HELP,
  parseAccountsArguments,
  type AccountsArguments,
} from './billing/accounts-arguments.js';
import { pricesOf } from './billing/billing.js';
import { ModelNames } from './billing/model-names.js';
import { CommandError, commandFailed } from './command-error.js';
import { ConfigError, loadConfig } from './config/load.js';
import type { Config } from './config/schema.js';
import { targetOf } from './stores.js';

/** Jobs that are looked through. */
const MOST_JOBS = 100_000;

async function main(args: readonly string[]): Promise<number> {
  const asked = parseAccountsArguments(args);
  const { command } = asked;
  if (command === 'help') return say(ACCOUNTS_HELP);
  const config = loadConfig(asked.text('config'), process.env);
  const target = targetOf(config.store);
  if (target === undefined) throw new ConfigError('store.kind: a store in memory has no accounts to look at');
  const db = await openDatabase(target, () => undefined);
  try {
    const ledger = await Ledger.open(db, target.kind);
    if (command === 'invoice') return await invoice(ledger, asked);
    if (command === 'decide') return await decide(ledger, await SqlAccess.open(db, target.kind), asked);
    if (command === 'rerate') return await rerateTurns(ledger, config, asked);
    return asked.text('statement') === undefined
      ? await reconcileAll(ledger, config, asked.text('json'))
      : await statement(ledger, asked);
  } finally {
    await db.destroy();
  }
}

async function reconcileAll(ledger: Ledger, config: Config, json: string | undefined): Promise<number> {
  let [inJournals, inQueue, inSpools] = [0, 0, 0];
  const { turns, stored, differences, faults } = await reconcile(ledger, async () => {
    const journal = await pendingIn(config.billing.journal);
    const queue = await queued(config.billing.redis);
    const spool = await spooledIn(config.store.spool);
    [inJournals, inQueue, inSpools] = [journal.size, queue.size, spool.size];
    return { journal, queue, spool };
  });
  const unexplained = differences.filter(({ explanation }) => explanation === 'unexplained');
  say(`turns in the ledger  ${turns}\nstored responses     ${stored}\n`);
  say(
    `in journals          ${inJournals}\nin the queue         ${inQueue}\nin spools            ${inSpools}\n`,
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
  } catch (thrown) {
    const { message } = thrown as Error;
    throw new CommandError(`The queue cannot be looked at, is Redis there? ${message}`);
  } finally {
    await queue.close();
  }
}

async function statement(ledger: Ledger, asked: AccountsArguments): Promise<number> {
  const lines = parseStatement(readFileSync(asked.required('statement'), 'utf8'));
  const differences = await compareStatement(ledger, lines, {
    engine: asked.text('engine'),
    from: asked.text('from') ?? '0000-01-01',
    to: asked.text('to') ?? '9999-12-31',
  });
  for (const difference of differences) say(lineOf(difference));
  const cut = differences.filter(({ kind }) => kind === 'cut').length;
  say(`lines=${lines.length} differences=${differences.length} cut=${cut}\n`);
  return differences.length > cut ? 1 : 0;
}

function lineOf({ responseId, kind, input, output }: StatementDifference): string {
  return `${kind} ${responseId}: input ${input.join(' / ')}, output ${output.join(' / ')} (ledger / statement)\n`;
}

async function invoice(ledger: Ledger, asked: AccountsArguments): Promise<number> {
  const { from, to } = asked.daysFor(Date.now());
  const made = await invoiceFor(ledger.db, asked.required('tenant'), from, to);
  return say(asked.csv ? invoiceCsv(made) : `${JSON.stringify(made, undefined, 2)}\n`);
}

async function rerateTurns(ledger: Ledger, config: Config, asked: AccountsArguments): Promise<number> {
  const names = new ModelNames(config.models);
  const prices = pricesOf(config);
  const version = asked.text('version');
  if (version !== undefined && !prices.hasVersion(version)) {
    throw new ConfigError(`--version: the price book has no version '${version}'`);
  }
  const { turns, corrected, difference } = await rerate(ledger, {
    prices,
    modelOf: (name) => names.modelOf(name),
    version,
    tenant: asked.text('tenant'),
    from: asked.required('from'),
    to: asked.required('to'),
    reason: asked.required('reason'),
    author: asked.required('author'),
  });
  return say(`turns=${turns} corrected=${corrected} difference_usd=${dollars(difference)}\n`);
}

async function decide(ledger: Ledger, access: SqlAccess, asked: AccountsArguments): Promise<number> {
  const response = asked.text('response');
  const fields = {
    id: asked.required('id'),
    kind: asked.required('kind'),
    tenant: asked.required('tenant'),
    amount_usd: asked.required('usd'),
    reason: asked.required('reason'),
    ...(response === undefined ? {} : { response_id: response }),
  };
  const { kind, id, tenant, amount_usd, booked } = await bookDecision(ledger, fields, {
    author: asked.required('author'),
    isTenant: async (name) => (await access.tenant(name)) !== undefined,
  });
  const owed = dollars(await ledger.owed(tenant));
  return say(
    `${kind} ${id} of $${amount_usd}: ${booked ? 'booked' : 'was booked before'}; ${tenant} owes $${owed}\n`,
  );
}

function say(line: string): number {
  process.stdout.write(line);
  return 0;
}

main(process.argv.slice(2)).then((code) => (process.exitCode = code), commandFailed);
