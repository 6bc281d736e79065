import { jsonOf, parseInput, parseJson } from '@turnpike/protocol';
import type { Expansion } from '@turnpike/turns';

/** First byte: no packed ids begin with it, because the name of their format has a length. */
const MARK = 0;

/** What a sealed item stands for, as bytes. */
export function packExpansion({ items, replaces }: Expansion): Uint8Array {
  return Buffer.concat([Uint8Array.of(MARK), Buffer.from(jsonOf({ replaces, items }))]);
}

/**
 * The expansion again; undefined when the bytes are not what {@link packExpansion} makes. They were sealed by this
 * server, though maybe by another version of it: items are read the way a request's are.
 */
export function unpackExpansion(bytes: Uint8Array): Expansion | undefined {
  if (bytes[0] !== MARK) return undefined;
  try {
    const { replaces, items } = parseJson(Buffer.from(bytes.subarray(1)).toString()) as Record<
      string,
      unknown
    >;
    return { replaces: replaces === true, items: parseInput(items) };
  } catch {
    return undefined;
  }
}
