import { StatementError } from '@turnpike/ledger';
import { ApiError } from '@turnpike/protocol';
import { ConfigError } from './config/load.js';

/** What a command came to nothing by, in a line that says it all. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/**
 * Says on stderr why a command came to nothing: in one line where that says it, as for a database that cannot be reached.
 * The exit code is 2 for what was asked wrongly, and 1 for the rest.
 */
export function commandFailed(thrown: unknown): void {
  const isAsked = thrown instanceof ConfigError || thrown instanceof ApiError;
  process.stderr.write(`${isAsked ? thrown.message : reasonOf(thrown)}\n`);
  process.exitCode = isAsked ? 2 : 1;
}

function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  // Of the operating system and of databases, which say what they refuse by a code.
  const { code } = thrown as { code?: unknown };
  if (thrown instanceof StatementError || thrown instanceof CommandError) return thrown.message;
  return typeof code === 'string' ? thrown.message || code : (thrown.stack ?? thrown.message);
}
