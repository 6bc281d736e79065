import type { Scope } from './principal.js';
import { SCOPES } from './principal.js';
import type { ApiKeyRow, BudgetRow, TenantRow } from './schema.js';

/** Who owns keys, and pays. */
export interface Tenant {
  readonly id: string;
  /** For people. */
  readonly name: string;
  /** In ms since the epoch. */
  readonly createdAt: number;
}

/** A key as operators see it: everything but the key. Times are in ms since the epoch. */
export interface ApiKey {
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  /** Its first characters. */
  readonly prefix: string;
  readonly scopes: readonly Scope[];
  /** Undefined for all. */
  readonly models: readonly string[] | undefined;
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  readonly revokedAt: number | undefined;
  readonly rotatedAt: number | undefined;
  /** Until when the key before the last rotation is good. */
  readonly previousUntil: number | undefined;
  readonly lastUsedAt: number | undefined;
}

/** A key with what it is recognised by. */
export interface StoredKey extends ApiKey {
  /** SHA-256 in hexadecimal. */
  readonly hash: string;
  readonly previousHash: string | undefined;
}

/** Over what a budget counts; days and months are those of UTC. */
export const PERIODS = ['day', 'month', 'total'] as const;

/** What a tenant, one of its keys, or its use of one model may cost. */
export interface Budget {
  readonly id: string;
  readonly tenant: string;
  /** Id of the key that it is for. */
  readonly key: string | undefined;
  /** The model that it is for; never together with `key`. */
  readonly model: string | undefined;
  /** Nano-dollars, a safe integer. */
  readonly amount: number;
  readonly period: (typeof PERIODS)[number];
  /** Only reports what it would have stopped. */
  readonly shadow: boolean;
  readonly createdAt: number;
}

export interface StoredBudget extends Budget {
  readonly deleted: boolean;
}

export function tenantOf({ id, name, created_at }: TenantRow): Tenant {
  return { id, name, createdAt: created_at };
}

/** A key without what it is recognised by. */
export function shownKey({ hash: _, previousHash: __, ...key }: StoredKey): ApiKey {
  return key;
}

export function shownBudget({ deleted: _, ...budget }: StoredBudget): Budget {
  return budget;
}

export function keyOf(row: ApiKeyRow): StoredKey {
  return {
    id: row.id,
    tenant: row.tenant,
    name: row.name,
    prefix: row.prefix,
    // A scope of a newer version means nothing here.
    scopes: (JSON.parse(row.scopes) as string[]).filter((each): each is Scope =>
      SCOPES.includes(each as Scope),
    ),
    models: row.models === null ? undefined : (JSON.parse(row.models) as string[]),
    createdAt: row.created_at,
    expiresAt: row.expires_at ?? undefined,
    revokedAt: row.revoked_at ?? undefined,
    rotatedAt: row.rotated_at ?? undefined,
    previousUntil: row.previous_until ?? undefined,
    lastUsedAt: row.last_used_at ?? undefined,
    hash: row.hash,
    previousHash: row.previous_hash ?? undefined,
  };
}

export function budgetOf(row: BudgetRow): StoredBudget {
  return {
    id: row.id,
    tenant: row.tenant,
    key: row.key ?? undefined,
    model: row.model ?? undefined,
    amount: row.amount,
    period: PERIODS.find((each) => each === row.period) ?? 'total',
    shadow: row.shadow === 1,
    createdAt: row.created_at,
    deleted: row.deleted_at !== null,
  };
}
