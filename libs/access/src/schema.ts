import type { StoreSchema } from '@turnpike/storage';

/** Who owns keys, and pays. */
export interface TenantRow {
  id: string;
  /** For people. */
  name: string;
  /** Milliseconds since the epoch. */
  created_at: number;
}

/** A key. Rows stay: the ledger names keys long after they were revoked. */
export interface ApiKeyRow {
  id: string;
  tenant: string;
  name: string;
  /** The beginning of the key, for people. */
  prefix: string;
  /** SHA-256 in hexadecimal. */
  hash: string;
  /** The hash before a rotation, which is good until `previous_until` (ms). */
  previous_hash: string | null;
  previous_until: number | null;
  /** JSON list. */
  scopes: string;
  /** JSON list; null for all models. */
  models: string | null;
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  rotated_at: number | null;
  /** To the minute. */
  last_used_at: number | null;
  /** Number of the change that made it what it is. */
  revision: number;
}

/** What a tenant, a key or a tenant's use of a model may cost. */
export interface BudgetRow {
  id: string;
  tenant: string;
  /** Id of the key that it is for, or the name of one from the configuration. */
  key: string | null;
  model: string | null;
  /** Nano-dollars. */
  amount: number;
  /** `day`, `month` or `total`. */
  period: string;
  /** 0 or 1: only reports. */
  shadow: number;
  created_at: number;
  deleted_at: number | null;
  revision: number;
}

/** One row that counts changes: whoever remembers a number can ask what came after it. */
export interface AccessRevisionRow {
  id: number;
  revision: number;
}

/** Keys share the database of the store. */
export type AccessSchema = StoreSchema & {
  tenants: TenantRow;
  api_keys: ApiKeyRow;
  budgets: BudgetRow;
  access_revision: AccessRevisionRow;
};
