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
