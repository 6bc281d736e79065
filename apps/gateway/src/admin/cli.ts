import { isDay } from '@turnpike/metering';
import { parseArgs } from 'node:util';
import { ConfigError } from '../config/load.js';

export const HELP = `turnpike admin - tenants, keys and budgets, in the database of the gateway

Usage: npm run admin -- COMMAND [options]

Commands:
  tenants list
  tenants create ID [--name NAME]
  keys list [--tenant ID]
  keys create --tenant ID --name NAME [--scope SCOPE]... [--model MODEL]... [--expires WHEN]
  keys rotate KEY_ID [--grace DURATION]       a new key; the old one is good for a while yet (0s)
  keys revoke KEY_ID
  budgets list [--tenant ID]
  budgets create --tenant ID --usd AMOUNT --period PERIOD [--key KEY_ID | --model MODEL] [--shadow]
  budgets delete BUDGET_ID

Options:
  --config FILE   the gateway's configuration, for where its database is; DATABASE_URL wins over it
  --scope SCOPE   inference (the default), billing, admin or operator
  --model MODEL   only this model, and others that are named; all without
  --expires WHEN  a day as 2027-01-31 (its end, UTC), or a duration from now
  --usd AMOUNT    dollars, as 25 or 0.50
  --period PERIOD day, month or total; days and months are those of UTC
  --shadow        the budget only reports what it would have stopped
  --json          answers as JSON
  --help          show this text

A DURATION is a number with s, m, h or d behind it: 90d. A key is shown once, when it is made or rotated.
`;

/** A command as the admin API would be asked for it. */
export interface Command {
  readonly noun: 'tenants' | 'keys' | 'budgets';
  readonly verb: string;
  /** The id that it is about. */
  readonly id: string | undefined;
  /** Body of the request. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly tenant: string | undefined;
}

export interface AdminArguments {
  readonly help: boolean;
  readonly json: boolean;
  readonly config: string | undefined;
  readonly command: Command | undefined;
}

/** Verbs: whether they take an id, and which options. */
const VERBS: Readonly<
  Record<
    Command['noun'],
    Readonly<Record<string, { readonly id: boolean; readonly options: readonly (keyof Options)[] }>>
  >
> = {
  tenants: { list: { id: false, options: [] }, create: { id: true, options: ['name'] } },
  keys: {
    list: { id: false, options: ['tenant'] },
    create: { id: false, options: ['tenant', 'name', 'scope', 'model', 'expires'] },
    rotate: { id: true, options: ['grace'] },
    revoke: { id: true, options: [] },
  },
  budgets: {
    list: { id: false, options: ['tenant'] },
    create: { id: false, options: ['tenant', 'usd', 'period', 'key', 'model', 'shadow'] },
    delete: { id: true, options: [] },
  },
};
const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/**
 * @param now in ms, for durations
 * @throws ConfigError with the usage for what is not understood
 */
export function parseAdminArguments(argv: readonly string[], now: number): AdminArguments {
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        config: { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
        tenant: { type: 'string' },
        name: { type: 'string' },
        scope: { type: 'string', multiple: true },
        model: { type: 'string', multiple: true },
        expires: { type: 'string' },
        grace: { type: 'string' },
        usd: { type: 'string' },
        period: { type: 'string' },
        key: { type: 'string' },
        shadow: { type: 'boolean' },
      },
    });
    const { config, json, help, ...options } = values;
    const asked = help || positionals.length === 0;
    return { help: asked, json, config, command: asked ? undefined : commandOf(positionals, options, now) };
  } catch (thrown) {
    throw new ConfigError(`${(thrown as Error).message}\n\n${HELP}`);
  }
}

interface Options {
  readonly tenant?: string | undefined;
  readonly name?: string | undefined;
  readonly scope?: readonly string[] | undefined;
  readonly model?: readonly string[] | undefined;
  readonly expires?: string | undefined;
  readonly grace?: string | undefined;
  readonly usd?: string | undefined;
  readonly period?: string | undefined;
  readonly key?: string | undefined;
  readonly shadow?: boolean | undefined;
}

function commandOf(
  [noun = '', verb = '', id, ...rest]: readonly string[],
  options: Options,
  now: number,
): Command {
  const verbs = Object.hasOwn(VERBS, noun) ? VERBS[noun as Command['noun']] : undefined;
  const takes = verbs !== undefined && Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (takes === undefined) throw new Error(`There is no command '${`${noun} ${verb}`.trim()}'`);
  if (takes.id !== (id !== undefined) || rest.length > 0) {
    throw new Error(`'${noun} ${verb}' takes ${takes.id ? 'one id' : 'no id'}`);
  }
  // What is passed over in silence would be taken for done.
  const other = Object.keys(options).find((name) => !takes.options.some((each) => each === name));
  if (other !== undefined) throw new Error(`'${noun} ${verb}' takes no --${other}`);
  const { tenant } = options;
  const body = bodyOf(noun as Command['noun'], verb, id, options, now);
  if (noun !== 'tenants' && verb === 'create' && tenant === undefined)
    throw new Error('--tenant is required');
  return { noun: noun as Command['noun'], verb, id, body, tenant };
}

/** What is left out is left out of the body too, whose errors name what is missing. */
function bodyOf(
  noun: Command['noun'],
  verb: string,
  id: string | undefined,
  options: Options,
  now: number,
): Readonly<Record<string, unknown>> {
  const { tenant, name, scope, model, expires, grace, usd, period, key, shadow } = options;
  if (verb === 'rotate') return present({ grace_seconds: grace && secondsOf(grace) });
  if (verb !== 'create') return {};
  if (noun === 'tenants') return present({ id, name });
  if (noun === 'keys') {
    return present({
      tenant,
      name,
      scopes: scope,
      models: model,
      expires_at: expires && whenOf(expires, now),
    });
  }
  const [budgetModel, more] = model ?? [];
  if (more !== undefined) throw new Error('A budget is for one --model');
  return present({ tenant, key, model: budgetModel, amount_usd: usd, period, shadow });
}

function present(values: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

function secondsOf(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const seconds = UNIT_SECONDS[unit];
  if (seconds === undefined) throw new Error(`'${text}' is no duration, as 90d or 12h`);
  return Number(count) * seconds;
}

/** Seconds since the epoch. */
function whenOf(text: string, now: number): number {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return Math.floor(now / 1000) + secondsOf(text);
  if (!isDay(text)) throw new Error(`'${text}' is no day`);
  return Date.parse(`${text}T00:00:00Z`) / 1000 + (UNIT_SECONDS['d'] ?? 0);
}
