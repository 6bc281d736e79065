import type { IdBytes } from './schema.js';

/**
 * Token ids as little-endian 32-bit integers: what a typed array holds anyway, so that writing is free and reading one
 * copy. Variable length would save a quarter and cost a loop over every id of a chain.
 */
export function idsToBytes(ids: Int32Array): Uint8Array {
  return Buffer.from(ids.buffer, ids.byteOffset, ids.byteLength);
}

/** The ids in bytes that a driver returned: a copy, because a view has to begin at a multiple of four. */
export function idsFromBytes(bytes: IdBytes): Int32Array {
  const copy = new Uint8Array(bytes.byteLength);
  copy.set(bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes);
  return new Int32Array(copy.buffer);
}
