import { timingSafeEqual } from 'node:crypto';
import { ApiError } from '@turnpike/protocol';
import { FailedAttempts } from './failed-attempts.js';
import { hasScope, OPEN_PRINCIPAL, type Principal, type Scope } from './principal.js';
import type { Budget, StoredBudget, StoredKey } from './records.js';
import { Refresher, type RefreshTimes } from './refresher.js';
import { hashSecret } from './secret.js';

/** A key as configuration holds it: only its hash. */
export interface HashedKey {
  readonly name: string;
  /** SHA-256 of the key, as 64 hexadecimal digits. */
  readonly sha256: string;
  readonly tenant: string;
  readonly scopes?: readonly Scope[] | undefined;
}

/** Keys and budgets that changed after some revision. */
export interface AccessChanges {
  /** Of the last change. */
  readonly revision: number;
  readonly keys: readonly StoredKey[];
  readonly budgets: readonly StoredBudget[];
}

/** Where keys beside those of the configuration are kept. */
export interface KeySource {
  changesSince(revision: number): Promise<AccessChanges>;
  /** Says when keys were last used, by their ids, in ms. */
  touch(used: ReadonlyMap<string, number>): Promise<void>;
}

/** A request, as far as it says who makes it. */
export interface Caller {
  readonly headers: { readonly authorization?: string | undefined };
  readonly socket?: { readonly remoteAddress?: string | undefined } | undefined;
}

export interface KeyRingOptions {
  readonly source?: KeySource | undefined;
  /** Called when the source could not be asked; what was known before goes on to be used. */
  readonly onFailure?: ((error: unknown) => void) | undefined;
  readonly times?: RefreshTimes | undefined;
  /** A clock in ms. */
  readonly now?: (() => number) | undefined;
}

interface Entry {
  readonly digest: Buffer;
  readonly principal: Principal;
  /** From then on (ms) it lets nobody in. */
  readonly until: number;
}

/** Hexadecimal digits of a hash by which it is looked up; the rest is compared in constant time. */
const BUCKET_DIGITS = 8;
const INFERENCE: readonly Scope[] = ['inference'];
/** How exactly it is known when a key was used, in ms. */
const USED_MS = 60_000;

/**
 * The keys of this server: those of the configuration, and those of a database, which are kept in memory and brought up to
 * date once a second, and at once when an unknown key turns up.
 */
export class KeyRing {
  readonly #buckets = new Map<string, Entry[]>();
  /** Hashes of a key of the database, by its id. */
  readonly #hashesOf = new Map<string, readonly string[]>();
  readonly #hashOf = new WeakMap<Principal, string>();
  /** Hashes of the keys of the configuration, by their names. */
  readonly #configured = new Map<string, readonly string[]>();
  readonly #budgets = new Map<string, Budget[]>();
  readonly #used = new Map<string, number>();
  readonly #failed: FailedAttempts;
  readonly #source: KeySource | undefined;
  readonly #refresher: Refresher;
  readonly #now: () => number;
  readonly #hasConfigured: boolean;
  #revision = 0;
  #touched: number;

  constructor(keys: readonly HashedKey[], options: KeyRingOptions = {}) {
    this.#now = options.now ?? Date.now;
    this.#failed = new FailedAttempts(this.#now);
    this.#source = options.source;
    this.#hasConfigured = keys.length > 0;
    this.#touched = this.#now();
    this.#refresher = new Refresher(
      () => this.#load(),
      options.onFailure ?? (() => undefined),
      options.times,
    );
    for (const { name, sha256, tenant, scopes = INFERENCE } of keys) {
      this.#add(sha256, { tenant, key: name, scopes }, Infinity);
      this.#configured.set(name, [...(this.#configured.get(name) ?? []), sha256]);
    }
  }

  /** Reads what the source has, and keeps up with it from then on. @throws Error when it cannot be read */
  async start(): Promise<void> {
    if (this.#source === undefined) return;
    await this.#load();
    this.#refresher.start();
  }

  /** Writes down when keys were last used, and looks at nothing more. */
  async stop(): Promise<void> {
    await this.#refresher.stop();
    await this.#touch().catch(() => undefined);
  }

  /** Brings it up to date, as after a change that was made here. */
  refresh(): Promise<void> {
    return this.#source === undefined ? Promise.resolve() : this.#refresher.refresh();
  }

  /** True when there have never been any keys and every caller is let in. */
  get open(): boolean {
    return !this.#hasConfigured && this.#hashesOf.size === 0;
  }

  /**
   * Who holds the key of an `Authorization: Bearer` header.
   * @throws ApiError invalid_api_key | too_many_failed_attempts | insufficient_permissions
   */
  async authenticate(caller: Caller, scope: Scope = 'inference'): Promise<Principal> {
    return demand(await this.#principalOf(caller), scope);
  }

  /**
   * The same principal as it is now, for connections that outlive a request.
   * @throws ApiError invalid_api_key once its key is revoked or expired; insufficient_permissions
   */
  current(principal: Principal, scope: Scope = 'inference'): Principal {
    if (principal === OPEN_PRINCIPAL && this.open) return principal;
    const hash = this.#hashOf.get(principal);
    const now = hash === undefined ? undefined : this.#find(hash);
    if (now === undefined) throw new ApiError('invalid_api_key');
    return demand(now, scope);
  }

  /**
   * Who holds a key now, for what was asked for with it and waited meanwhile, perhaps in another process. What an open server
   * took without a key goes on once there are keys: nobody has revoked anything of whom it was taken from.
   * @param key its id
   * @throws ApiError invalid_api_key once it is revoked, expired or gone; insufficient_permissions
   */
  holderOf(tenant: string, key: string, scope: Scope = 'inference'): Principal {
    const known = this.#hashesOf.get(key) ?? this.#configured.get(key);
    const isOpen = tenant === OPEN_PRINCIPAL.tenant && key === OPEN_PRINCIPAL.key;
    if (known === undefined && isOpen) return demand(OPEN_PRINCIPAL, scope);
    const hashes = known ?? [];
    const now = hashes
      .map((hash) => this.#find(hash))
      .find((each) => each?.tenant === tenant && each.key === key);
    if (now === undefined) throw new ApiError('invalid_api_key');
    return demand(now, scope);
  }

  /** Budgets that a turn counts for: of its tenant, of its key, and of the tenant's use of the model. */
  budgetsOf({ tenant, key, model }: Readonly<Record<'tenant' | 'key' | 'model', string>>): readonly Budget[] {
    return (this.#budgets.get(tenant) ?? []).filter(
      (budget) =>
        (budget.key === undefined || budget.key === key) &&
        (budget.model === undefined || budget.model === model),
    );
  }

  async #principalOf({ headers, socket }: Caller): Promise<Principal> {
    if (this.open) return OPEN_PRINCIPAL;
    const address = socket?.remoteAddress;
    const secret = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
    if (secret === undefined) throw new ApiError('invalid_api_key');
    const hash = hashSecret(secret);
    const known = this.#find(hash);
    if (known !== undefined) return known;
    const wait = this.#failed.waitOf(address);
    if (wait !== undefined) throw new ApiError('too_many_failed_attempts', { retryAfter: wait });
    // It may have been made a moment ago.
    await this.refresh();
    const found = this.#find(hash);
    if (found !== undefined) return found;
    this.#failed.add(address);
    throw new ApiError('invalid_api_key');
  }

  #find(hash: string): Principal | undefined {
    const digest = Buffer.from(hash, 'hex');
    const now = this.#now();
    let found: Principal | undefined;
    for (const entry of this.#buckets.get(hash.slice(0, BUCKET_DIGITS)) ?? []) {
      if (timingSafeEqual(entry.digest, digest) && now < entry.until) found ??= entry.principal;
    }
    if (found !== undefined && this.#hashesOf.has(found.key)) this.#used.set(found.key, now);
    return found;
  }

  async #load(): Promise<void> {
    if (this.#source === undefined) return;
    const { revision, keys, budgets } = await this.#source.changesSince(this.#revision);
    this.#revision = revision;
    for (const key of keys) this.#take(key);
    for (const budget of budgets) this.#takeBudget(budget);
    if (this.#now() - this.#touched >= USED_MS) await this.#touch();
  }

  async #touch(): Promise<void> {
    this.#touched = this.#now();
    if (this.#used.size === 0) return;
    const used = new Map(this.#used);
    this.#used.clear();
    await this.#source?.touch(used);
  }

  #take(key: StoredKey): void {
    for (const hash of this.#hashesOf.get(key.id) ?? []) this.#remove(hash, key.id);
    const until = Math.min(key.revokedAt ?? Infinity, key.expiresAt ?? Infinity);
    const hashes = [{ hash: key.hash, until }];
    if (key.previousHash !== undefined) {
      hashes.push({ hash: key.previousHash, until: Math.min(until, key.previousUntil ?? 0) });
    }
    const { tenant, id, scopes, models } = key;
    for (const each of hashes) this.#add(each.hash, { tenant, key: id, scopes, models }, each.until);
    this.#hashesOf.set(
      key.id,
      hashes.map(({ hash }) => hash),
    );
  }

  #takeBudget({ deleted, ...budget }: StoredBudget): void {
    const others = (this.#budgets.get(budget.tenant) ?? []).filter(({ id }) => id !== budget.id);
    this.#budgets.set(budget.tenant, deleted ? others : [...others, budget]);
  }

  #add(hash: string, principal: Principal, until: number): void {
    this.#hashOf.set(principal, hash);
    const bucket = hash.slice(0, BUCKET_DIGITS);
    const entry = { digest: Buffer.from(hash, 'hex'), principal, until };
    this.#buckets.set(bucket, [...(this.#buckets.get(bucket) ?? []), entry]);
  }

  #remove(hash: string, keyId: string): void {
    const bucket = hash.slice(0, BUCKET_DIGITS);
    const left = (this.#buckets.get(bucket) ?? []).filter(({ principal }) => principal.key !== keyId);
    if (left.length === 0) this.#buckets.delete(bucket);
    else this.#buckets.set(bucket, left);
  }
}

/** @throws ApiError insufficient_permissions */
function demand(principal: Principal, scope: Scope): Principal {
  if (hasScope(principal, scope)) return principal;
  throw new ApiError('insufficient_permissions', {
    message: `This key does not have the scope '${scope}' that this needs.`,
  });
}
