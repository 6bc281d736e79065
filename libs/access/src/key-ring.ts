import { createHash, timingSafeEqual } from 'node:crypto';
import { ApiError } from '@turnpike/protocol';

/** Who a request acts for. */
export interface Principal {
  /** Owner of every id the request makes or may name. */
  readonly tenant: string;
  /** Name of the key, for logs; never the key. */
  readonly key: string;
}

/** A key as configuration holds it: only its hash. */
export interface HashedKey {
  readonly name: string;
  /** SHA-256 of the key, as 64 hexadecimal digits. */
  readonly sha256: string;
  readonly tenant: string;
}

/** Everyone, where no keys are configured; such a server binds to loopback only. */
export const OPEN_PRINCIPAL: Principal = { tenant: 'local', key: 'open' };

/** The keys of this server. */
export class KeyRing {
  readonly #keys: readonly { digest: Buffer; principal: Principal }[];

  constructor(keys: readonly HashedKey[]) {
    this.#keys = keys.map(({ name, sha256, tenant }) => ({
      digest: Buffer.from(sha256, 'hex'),
      principal: { tenant, key: name },
    }));
  }

  /** True when there are no keys and every caller is let in. */
  get open(): boolean {
    return this.#keys.length === 0;
  }

  /**
   * Who holds the key of an `Authorization: Bearer` header.
   * @throws ApiError invalid_api_key
   */
  authenticate(authorization: string | undefined): Principal {
    if (this.open) return OPEN_PRINCIPAL;
    const key = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
    if (key === undefined) throw new ApiError('invalid_api_key');
    const digest = createHash('sha256').update(key).digest();
    // Every key is compared, so that the time taken does not tell which one was near.
    let found: Principal | undefined;
    for (const entry of this.#keys) {
      if (timingSafeEqual(entry.digest, digest)) found = entry.principal;
    }
    if (found === undefined) throw new ApiError('invalid_api_key');
    return found;
  }
}
