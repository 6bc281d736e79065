import { createHash, randomBytes } from 'node:crypto';

/** Says what it is where one turns up by accident, to people and to programs that look for secrets. */
const PREFIX = 'tpk_';
const SECRET_BYTES = 32;
/** Characters of a key that may be shown: enough to tell keys apart, and 208 bits short of one. */
const SHOWN = PREFIX.length + 8;

/** A new key with 256 random bits. It is shown to its owner once, and kept nowhere. */
export function mintSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64url');
}

/** What is kept of a key: SHA-256, in hexadecimal. Random keys need no slow hash: they cannot be guessed from a list. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** The beginning of a key, by which people recognise it. */
export function shownPrefix(secret: string): string {
  return secret.slice(0, SHOWN);
}
