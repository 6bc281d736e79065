import { ApiError } from '@turnpike/protocol';
import pg from 'pg';

/** SQLSTATE of a server that is about to go, or cannot work: connection, resources, operator, system, read-only stand-by. */
const AWAY = /^(?:08|53|57|58|25006)/;
/** SQLSTATE of what will be refused however often it comes: data, constraint, limits of the server. */
const REFUSED = /^(?:22|23|54)/;

/** Whether a query failed of its connection or server, rather than of what it says. */
export function isAway(thrown: unknown): boolean {
  return !(thrown instanceof pg.DatabaseError) || AWAY.test(thrown.code ?? '');
}

/** Codes of Node's when there is no connection, or no more. */
const NO_CONNECTION =
  /^(?:ECONN(?:REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/;
/** What `pg` and its pool say of connections without a code. */
const LOST =
  /^(?:Connection terminated|Query read timeout|timeout exceeded when trying to connect|Client has encountered)/;

/** Whether an error, that may be of anything, is that of a database that cannot be reached. */
export function isUnreachable(thrown: unknown): boolean {
  if (thrown instanceof pg.DatabaseError) return isAway(thrown);
  const { code, message } = Object(thrown) as { code?: unknown; message?: unknown };
  return (
    (typeof code === 'string' && NO_CONNECTION.test(code)) ||
    (typeof message === 'string' && LOST.test(message))
  );
}

/** Whether a failure to connect shows that the server is there: it may have no connection left, and serve those it has. */
export function isAlive(thrown: unknown): boolean {
  return !isAway(thrown) || (thrown instanceof pg.DatabaseError && thrown.code?.startsWith('53') === true);
}

/** Whether the database has read what it was given, and will not take it the next time either. */
export function isRefused(thrown: unknown): boolean {
  return thrown instanceof pg.DatabaseError && REFUSED.test(thrown.code ?? '');
}

/** What a client is told while its request needs a database that does not answer. */
export function unavailable(cause: unknown): ApiError {
  return cause instanceof ApiError ? cause : new ApiError('store_unavailable', { cause, retryAfter: 5 });
}
