import { ApiError, quotable } from '@turnpike/protocol';
import { INPUT, read } from './admin-input.js';
import { budgetObject, keyObject, newKeyObject, tenantObject } from './admin-objects.js';
import type { HashedKey } from './key-ring.js';
import type { Listed, PageOptions } from './paging.js';
import { hasScope, type Principal, type Scope } from './principal.js';
import type { ApiKey } from './records.js';
import type { SqlAccess } from './sql-access.js';

export interface AccessAdminOptions {
  /** Keys of the configuration, for which there can be budgets too. */
  readonly configured: readonly HashedKey[];
  /** Resolves when a change has arrived where keys are checked. */
  readonly onChange?: (() => Promise<void>) | undefined;
  /** A clock in ms. */
  readonly now?: (() => number) | undefined;
}

/** Operators, who work on the machine itself. */
export const COMMAND_LINE: Principal = { tenant: '', key: 'command line', scopes: ['operator'] };

/**
 * What the admin API and the command line do, with who may do it. An operator acts for every tenant; an admin for the own one,
 * and every other is as unknown to it as one that never was.
 */
export class AccessAdmin {
  readonly #access: SqlAccess;
  readonly #configured: readonly HashedKey[];
  readonly #onChange: () => Promise<void>;
  readonly #now: () => number;

  constructor(access: SqlAccess, { configured, onChange, now }: AccessAdminOptions) {
    this.#access = access;
    this.#configured = configured;
    this.#onChange = onChange ?? (() => Promise.resolve());
    this.#now = now ?? Date.now;
  }

  /** @throws ApiError insufficient_permissions for who is no operator */
  async createTenant(actor: Principal, body: unknown) {
    if (!isOperator(actor)) throw operatorsOnly('make tenants');
    const { id, name = id } = read(INPUT.tenant, body);
    return tenantObject(await this.#access.createTenant({ id, name }));
  }

  async tenants(actor: Principal, page: PageOptions) {
    return listed(await this.#access.tenants(visible(actor, page)), tenantObject);
  }

  async createKey(actor: Principal, body: unknown) {
    const { tenant = actor.tenant, name, scopes, models, expires_at } = read(INPUT.key, body);
    this.#mayGrant(actor, scopes);
    if (!isOperator(actor) && tenant !== actor.tenant) throw noTenant(tenant);
    const expiresAt = toMs(expires_at);
    if (expiresAt !== null && expiresAt <= this.#now()) {
      const message = 'A key that is made now cannot have expired before.';
      throw new ApiError('invalid_value', { param: 'expires_at', message });
    }
    const made = await this.#access.createKey({ tenant, name, scopes, models, expiresAt });
    await this.#onChange();
    return newKeyObject(made, this.#now());
  }

  async keys(actor: Principal, page: PageOptions) {
    return listed(await this.#access.keys(visible(actor, page)), (key) => keyObject(key, this.#now()));
  }

  async key(actor: Principal, id: string) {
    return keyObject(await this.#keyOf(actor, id), this.#now());
  }

  async changeKey(actor: Principal, id: string, body: unknown) {
    await this.#changeable(actor, id);
    const { name, scopes, models, expires_at } = read(INPUT.keyChange, body);
    if (scopes !== undefined) this.#mayGrant(actor, scopes);
    const expiresAt = expires_at === undefined ? undefined : toMs(expires_at);
    const changed = await this.#access.changeKey(id, {
      ...(name === undefined ? {} : { name }),
      ...(scopes === undefined ? {} : { scopes }),
      ...(models === undefined ? {} : { models }),
      ...(expiresAt === undefined ? {} : { expiresAt }),
    });
    return this.#after(changed, id);
  }

  async rotateKey(actor: Principal, id: string, body: unknown) {
    await this.#changeable(actor, id);
    const { grace_seconds } = read(INPUT.rotation, body);
    const rotated = await this.#access.rotateKey(id, grace_seconds * 1000);
    if (rotated === undefined) throw isRevoked(id);
    await this.#onChange();
    return newKeyObject(rotated, this.#now());
  }

  async revokeKey(actor: Principal, id: string) {
    await this.#changeable(actor, id);
    return this.#after(await this.#access.revokeKey(id), id);
  }

  async createBudget(actor: Principal, body: unknown) {
    const input = read(INPUT.budget, body);
    const { tenant = actor.tenant, key, model, amount_usd: amount, period, shadow } = input;
    if (key !== undefined && model !== undefined) {
      const message = "A budget is for a tenant, for its 'key', or for its use of a 'model'.";
      throw new ApiError('invalid_value', { param: 'model', message });
    }
    if (!isOperator(actor)) {
      if (tenant !== actor.tenant) throw noTenant(tenant);
      if (key === undefined) throw operatorsOnly('set budgets that are not for a key');
    }
    if (!(await this.#isTenant(tenant))) throw noTenant(tenant);
    if (key !== undefined && !(await this.#isKey(tenant, key))) {
      throw new ApiError('invalid_value', { param: 'key', message: `There is no key '${quotable(key)}'.` });
    }
    const budget = await this.#access.createBudget({ tenant, key, model, amount, period, shadow });
    await this.#onChange();
    return budgetObject(budget);
  }

  async budgets(actor: Principal, page: PageOptions) {
    return listed(await this.#access.budgets(visible(actor, page)), budgetObject);
  }

  async deleteBudget(actor: Principal, id: string) {
    const budget = await this.#access.budget(id);
    if (budget === undefined || !sees(actor, budget.tenant)) throw unknown('budget', id);
    if (!isOperator(actor) && budget.key === undefined) throw operatorsOnly('remove such a budget');
    if (!(await this.#access.deleteBudget(id))) throw unknown('budget', id);
    await this.#onChange();
    return { object: 'budget.deleted', id, deleted: true };
  }

  async #after(changed: ApiKey | undefined, id: string) {
    if (changed === undefined) throw isRevoked(id);
    await this.#onChange();
    return keyObject(changed, this.#now());
  }

  /** @throws ApiError not_found */
  async #keyOf(actor: Principal, id: string): Promise<ApiKey> {
    const key = await this.#access.key(id);
    if (key === undefined || !sees(actor, key.tenant)) throw unknown('key', id);
    return key;
  }

  /** An admin who could rotate the key of an operator would be one. */
  async #changeable(actor: Principal, id: string): Promise<void> {
    const { scopes } = await this.#keyOf(actor, id);
    if (scopes.includes('operator') && !isOperator(actor)) throw operatorsOnly('change the key of one');
  }

  #mayGrant(actor: Principal, scopes: readonly Scope[]): void {
    if (scopes.includes('operator') && !isOperator(actor)) throw operatorsOnly('make one');
  }

  async #isTenant(tenant: string): Promise<boolean> {
    if (this.#configured.some((key) => key.tenant === tenant)) return true;
    return (await this.#access.tenant(tenant)) !== undefined;
  }

  async #isKey(tenant: string, id: string): Promise<boolean> {
    if (this.#configured.some((key) => key.tenant === tenant && key.name === id)) return true;
    return (await this.#access.key(id))?.tenant === tenant;
  }
}

function isOperator(actor: Principal): boolean {
  return hasScope(actor, 'operator');
}

function sees(actor: Principal, tenant: string): boolean {
  return isOperator(actor) || actor.tenant === tenant;
}

/** What of a list somebody may see: another tenant's part of it is empty to an admin. */
function visible(actor: Principal, page: PageOptions): PageOptions {
  if (isOperator(actor)) return page;
  if (page.tenant !== undefined && page.tenant !== actor.tenant) return { ...page, tenant: '' };
  return { ...page, tenant: actor.tenant };
}

/** @throws ApiError invalid_value for a cursor that is not in the list */
function listed<Entry, Shown>(list: Listed<Entry> | undefined, show: (entry: Entry) => Shown) {
  if (list === undefined) {
    const message = "'after' must be the id of an entry of this list.";
    throw new ApiError('invalid_value', { param: 'after', message });
  }
  return { entries: list.entries.map(show), hasMore: list.hasMore };
}

function toMs(seconds: number | null): number | null {
  return seconds === null ? null : seconds * 1000;
}

function noTenant(tenant: string): ApiError {
  const message = `There is no tenant '${quotable(tenant)}'.`;
  return new ApiError('invalid_value', { param: 'tenant', message });
}

function unknown(what: 'key' | 'budget', id: string): ApiError {
  return new ApiError('not_found', { param: 'id', message: `There is no ${what} '${quotable(id)}'.` });
}

function isRevoked(id: string): ApiError {
  return new ApiError('invalid_value', { param: 'id', message: `The key '${quotable(id)}' is revoked.` });
}

function operatorsOnly(what: string): ApiError {
  return new ApiError('insufficient_permissions', { message: `Only operators may ${what}.` });
}
