import { dollars } from '@turnpike/metering';
import type { ApiKey, Budget, Tenant } from './records.js';
import type { KeyWithSecret } from './sql-access.js';

/** Tenants, keys and budgets as the admin API shows them; times in seconds, as everywhere in that API. */
export function tenantObject({ id, name, createdAt }: Tenant) {
  return { object: 'tenant', id, name, created_at: seconds(createdAt) };
}

/** @param now in ms: decides about `status` */
export function keyObject(key: ApiKey, now: number) {
  return {
    object: 'api_key',
    id: key.id,
    tenant: key.tenant,
    name: key.name,
    redacted_value: `${key.prefix}...`,
    status: statusOf(key, now),
    scopes: key.scopes,
    models: key.models ?? null,
    created_at: seconds(key.createdAt),
    expires_at: seconds(key.expiresAt),
    revoked_at: seconds(key.revokedAt),
    rotated_at: seconds(key.rotatedAt),
    previous_value_expires_at: seconds(key.previousUntil),
    last_used_at: seconds(key.lastUsedAt),
  };
}

/** The only answer that has the key itself. */
export function newKeyObject({ key, secret }: KeyWithSecret, now: number) {
  return { ...keyObject(key, now), value: secret };
}

export function budgetObject({ id, tenant, key, model, amount, period, shadow, createdAt }: Budget) {
  return {
    object: 'budget',
    id,
    tenant,
    key: key ?? null,
    model: model ?? null,
    amount_usd: dollars(amount),
    period,
    shadow,
    created_at: seconds(createdAt),
  };
}

function statusOf({ revokedAt, expiresAt }: ApiKey, now: number): 'active' | 'revoked' | 'expired' {
  if (revokedAt !== undefined) return 'revoked';
  return expiresAt !== undefined && expiresAt <= now ? 'expired' : 'active';
}

function seconds(ms: number): number;
function seconds(ms: number | undefined): number | null;
function seconds(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.floor(ms / 1000);
}
