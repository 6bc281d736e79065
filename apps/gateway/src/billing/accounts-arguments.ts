import { dayOf, isDay } from '@turnpike/metering';
import { parseArgs } from 'node:util';
import { ConfigError } from '../config/load.js';

export const ACCOUNTS_HELP = `Accounts of a gateway's database and journals

Usage: npm run reconcile -- [--config FILE] [--json FILE]
         stored responses = journal = queue = ledger, each difference explained
       npm run reconcile -- --statement FILE.csv [--engine NAME] [--from DAY] [--to DAY]
         an engine's or a provider's own count against the ledger
       npm run invoice -- --tenant NAME [--from DAY] [--to DAY] [--csv]
         of this month, unless days are given
       npm run rerate -- --from DAY --to DAY --reason TEXT --author NAME [--tenant NAME] [--version NAME]
         books what turns cost by the price book now, where it differs, as corrections
       npm run decide -- --kind KIND --tenant NAME --usd AMOUNT --id ID --reason TEXT --author NAME [--response ID]
         books a payment, a refund or a write_off; the same --id of a kind is booked once

Days are those of UTC, as 2026-01-31, and both count. The exit code is 1 when something is unexplained.
`;

const OPTIONS = {
  config: { type: 'string' },
  json: { type: 'string' },
  statement: { type: 'string' },
  engine: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  tenant: { type: 'string' },
  reason: { type: 'string' },
  author: { type: 'string' },
  version: { type: 'string' },
  kind: { type: 'string' },
  usd: { type: 'string' },
  id: { type: 'string' },
  response: { type: 'string' },
  csv: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

type Option = keyof typeof OPTIONS;
type TextOption = Exclude<Option, 'csv' | 'help'>;

/** What each command takes beside --config. */
const COMMANDS = {
  reconcile: ['json', 'statement', 'engine', 'from', 'to'],
  invoice: ['tenant', 'from', 'to', 'csv'],
  rerate: ['from', 'to', 'reason', 'author', 'tenant', 'version'],
  decide: ['kind', 'tenant', 'usd', 'id', 'reason', 'author', 'response'],
} as const satisfies Readonly<Record<string, readonly Option[]>>;
/** Of reconcile, what a statement is for. */
const OF_STATEMENTS: readonly Option[] = ['engine', 'from', 'to'];

type Command = keyof typeof COMMANDS;

/** What is asked of the accounts. */
export interface AccountsArguments {
  readonly command: Command | 'help';
  readonly csv: boolean;
  readonly text: (name: TextOption) => string | undefined;
  /**
   * Days that are asked for; by default from the first of this month until today.
   * @param now ms since the epoch
   * @throws ConfigError when there are none between them
   */
  readonly daysFor: (now: number) => { readonly from: string; readonly to: string };
  /** @throws ConfigError when it is not there, or blank */
  readonly required: (name: TextOption) => string;
}

/** @throws ConfigError for what cannot be understood */
export function parseAccountsArguments([first = 'help', ...rest]: readonly string[]): AccountsArguments {
  const values = optionsOf(rest);
  const command = first === '--help' || values.help === true ? 'help' : first;
  if (command !== 'help' && !isCommand(command)) throw misread(`There is no command '${command}'`);
  if (command !== 'help') requireKnown(command, Object.keys(values) as Option[]);
  for (const name of ['from', 'to'] as const) {
    if (!isDay(values[name] ?? '2026-01-31')) throw misread(`--${name} is no day, as 2026-01-31`);
  }
  const { from, to } = values;
  if (from !== undefined && to !== undefined && from > to) throw misread(`--to is before --from`);
  const text = (name: TextOption) => values[name];
  return {
    command,
    csv: values.csv === true,
    text,
    daysFor(now) {
      const { from = `${dayOf(now).slice(0, 7)}-01`, to = dayOf(now) } = values;
      if (from > to) throw misread(`there is no day from ${from} to ${to}: give both --from and --to`);
      return { from, to };
    },
    required(name) {
      const value = text(name);
      if (value === undefined || value.trim() === '') throw misread(`--${name} is missing`);
      return value;
    },
  };
}

function isCommand(text: string): text is Command {
  return Object.hasOwn(COMMANDS, text);
}

/** What a command does not look at would be taken for something that it did. */
function requireKnown(command: Command, given: readonly Option[]): void {
  const known: readonly Option[] = COMMANDS[command];
  const other = given.find((each) => each !== 'config' && !known.includes(each));
  if (other !== undefined) throw misread(`'${command}' takes no --${other}`);
  if (command !== 'reconcile') return;
  const isStatement = given.includes('statement');
  const misplaced = given.find((each) => (isStatement ? each === 'json' : OF_STATEMENTS.includes(each)));
  if (misplaced === undefined) return;
  throw misread(`--${misplaced} does not go ${isStatement ? 'with' : 'without'} --statement`);
}

function optionsOf(args: string[]) {
  try {
    return parseArgs({ args, options: OPTIONS }).values;
  } catch (thrown) {
    throw misread((thrown as Error).message);
  }
}

function misread(message: string): ConfigError {
  return new ConfigError(`${message}\n\n${ACCOUNTS_HELP}`);
}
