import { AccessAdmin, COMMAND_LINE, SqlAccess, type Listed, type PageOptions } from '@turnpike/access';
import { openDatabase } from '@turnpike/storage';
import { ConfigError } from '../config/load.js';
import type { Config } from '../config/schema.js';
import { targetOf } from '../stores.js';
import type { Command } from './cli.js';

/** Entries that are asked for at once; lists are shown whole. */
const PAGE = 100;

/** An object of the admin API, or a list of them. */
export type Answer = Readonly<Record<string, unknown>> | readonly Readonly<Record<string, unknown>>[];

/**
 * Does in the database what the admin API does, as an operator. Gateways see it within a second.
 * @throws ConfigError where there is no database; ApiError as the admin API
 */
export async function runCommand(config: Config, command: Command): Promise<Answer> {
  const target = targetOf(config.store);
  if (target === undefined) throw new ConfigError("Keys cannot be kept: 'store.kind' is 'memory'.");
  const db = await openDatabase(target, () => undefined);
  try {
    const access = await SqlAccess.open(db, target.kind);
    return await run(new AccessAdmin(access, { configured: config.keys }), command);
  } finally {
    await db.destroy();
  }
}

function run(admin: AccessAdmin, { noun, verb, id = '', body, tenant }: Command): Promise<Answer> {
  const all = <Entry extends { readonly id: string }>(list: (page: PageOptions) => Promise<Listed<Entry>>) =>
    wholeList((after) => list({ tenant, limit: PAGE, order: 'asc', after }));
  switch (`${noun} ${verb}`) {
    case 'tenants list':
      return all((page) => admin.tenants(COMMAND_LINE, page));
    case 'tenants create':
      return admin.createTenant(COMMAND_LINE, body);
    case 'keys list':
      return all((page) => admin.keys(COMMAND_LINE, page));
    case 'keys create':
      return admin.createKey(COMMAND_LINE, body);
    case 'keys rotate':
      return admin.rotateKey(COMMAND_LINE, id, body);
    case 'keys revoke':
      return admin.revokeKey(COMMAND_LINE, id);
    case 'budgets list':
      return all((page) => admin.budgets(COMMAND_LINE, page));
    case 'budgets create':
      return admin.createBudget(COMMAND_LINE, body);
    case 'budgets delete':
      return admin.deleteBudget(COMMAND_LINE, id);
    default:
      throw new ConfigError(`There is no command '${noun} ${verb}'`);
  }
}

async function wholeList<Entry extends { readonly id: string }>(
  list: (after: string | undefined) => Promise<Listed<Entry>>,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (;;) {
    const page = await list(entries.at(-1)?.id);
    entries.push(...page.entries);
    if (!page.hasMore) return entries;
  }
}
