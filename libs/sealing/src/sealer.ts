import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from 'node:crypto';

/** Marks a text as sealed by this server; whatever else a client brings is not ours and is left alone. */
const PREFIX = 'tp1.';
const KEY_BYTES = 32;
/** NIST SP 800-38D: 96-bit nonces, 128-bit tags. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Enough of a key's hash to find the key again among a handful. */
const KEY_ID_BYTES = 4;

/** What opening a text came to. */
export type Opened =
  | { readonly kind: 'opened'; readonly bytes: Buffer }
  /** Not sealed by this server, or with a key it no longer has. */
  | { readonly kind: 'foreign' }
  /** Sealed with a key of this server, and changed since, or sealed for somebody else. */
  | { readonly kind: 'forged' };

/**
 * Seals what clients carry for the server between requests: AES-256-GCM, bound to a tenant. The first key seals, every
 * key opens, so that keys are rotated by putting a new one in front.
 */
export class Sealer {
  readonly #keys: readonly { id: Buffer; key: Buffer }[];
  readonly #salts = new Map<string, string>();

  /** @throws RangeError without keys, or with one that is not 32 bytes */
  constructor(keys: readonly Buffer[]) {
    if (keys.length === 0) throw new RangeError('At least one key is needed for sealing.');
    this.#keys = keys.map((key) => {
      if (key.length !== KEY_BYTES)
        throw new RangeError(`A sealing key has ${KEY_BYTES} bytes, not ${key.length}.`);
      return { id: createHash('sha256').update(key).digest().subarray(0, KEY_ID_BYTES), key };
    });
  }

  /**
   * A text of the tenant's own that nobody else can know: 43 letters, digits, `-` and `_`. It is the same for every server
   * that seals with the same key.
   */
  saltOf(tenant: string): string {
    const known = this.#salts.get(tenant);
    if (known !== undefined) return known;
    const salt = createHmac('sha256', this.#sealing.key).update(`salt of ${tenant}`).digest('base64url');
    this.#salts.set(tenant, salt);
    return salt;
  }

  /** `bytes` as text that only this server can read, and only for `tenant`. */
  seal(tenant: string, bytes: Uint8Array): string {
    const { id, key } = this.#sealing;
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', key, nonce);
    cipher.setAAD(Buffer.from(tenant));
    const sealed = Buffer.concat([id, nonce, cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
    return PREFIX + sealed.toString('base64url');
  }

  /** What was sealed for `tenant`. Never throws on anything a client may bring. */
  open(tenant: string, text: string): Opened {
    if (!text.startsWith(PREFIX)) return { kind: 'foreign' };
    const sealed = Buffer.from(text.slice(PREFIX.length), 'base64url');
    if (sealed.length < KEY_ID_BYTES + NONCE_BYTES + TAG_BYTES) return { kind: 'forged' };
    const id = sealed.subarray(0, KEY_ID_BYTES);
    const found = this.#keys.find((each) => each.id.equals(id));
    if (found === undefined) return { kind: 'foreign' };
    const nonce = sealed.subarray(KEY_ID_BYTES, KEY_ID_BYTES + NONCE_BYTES);
    const body = sealed.subarray(KEY_ID_BYTES + NONCE_BYTES, -TAG_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', found.key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(tenant));
    decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
    try {
      return { kind: 'opened', bytes: Buffer.concat([decipher.update(body), decipher.final()]) };
    } catch {
      return { kind: 'forged' };
    }
  }
  get #sealing(): { readonly id: Buffer; readonly key: Buffer } {
    const [first] = this.#keys;
    if (first === undefined) throw new Error('unreachable: a sealer has a key');
    return first;
  }
}
