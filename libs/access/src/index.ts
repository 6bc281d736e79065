export {
  KeyRing,
  type AccessChanges,
  type Caller,
  type HashedKey,
  type KeyRingOptions,
  type KeySource,
} from './key-ring.js';
export { hasScope, OPEN_PRINCIPAL, SCOPES, type Principal, type Scope } from './principal.js';
export { PERIODS, type ApiKey, type Budget, type StoredBudget, type StoredKey } from './records.js';
export type { RefreshTimes } from './refresher.js';
export { AccessAdmin, COMMAND_LINE, type AccessAdminOptions } from './access-admin.js';
export type { Listed, PageOptions } from './paging.js';
export { SqlAccess } from './sql-access.js';
export { hashSecret } from './secret.js';
