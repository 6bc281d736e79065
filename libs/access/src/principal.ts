/**
 * What a key may do. `inference`: everything below /v1. `billing`: read what its tenant used and owes. `admin`: the keys and
 * budgets of its tenant. `operator`: all of that for every tenant, and the platform itself.
 */
export const SCOPES = ['inference', 'billing', 'admin', 'operator'] as const;
export type Scope = (typeof SCOPES)[number];

/** Who a request acts for. */
export interface Principal {
  /** Owner of every id the request makes or may name. */
  readonly tenant: string;
  /** Id of the key, for logs and the ledger; never the key. A key from the configuration has its name for an id. */
  readonly key: string;
  readonly scopes: readonly Scope[];
  /** Models that it may ask for, by the names that clients use; undefined for all. */
  readonly models?: readonly string[] | undefined;
}

/** Everyone, where there are no keys at all; such a server binds to loopback only. */
export const OPEN_PRINCIPAL: Principal = { tenant: 'local', key: 'open', scopes: ['inference'] };

/** Whether a key has a scope: operators may do what everyone may, but for inference, which is paid for by a tenant. */
export function hasScope({ scopes }: Principal, scope: Scope): boolean {
  return scopes.includes(scope) || (scope !== 'inference' && scopes.includes('operator'));
}
