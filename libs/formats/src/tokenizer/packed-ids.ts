/** Lists of ids as two arrays: handing over 20,000 small arrays between threads would cost more than encoding them. */
export interface PackedIds {
  /** All lists, one behind the other. */
  readonly ids: Int32Array;
  /** Length of each list. */
  readonly lengths: Int32Array;
}

/** The lists in one array. */
export function packIds(lists: readonly Int32Array[]): PackedIds {
  const lengths = Int32Array.from(lists, (list) => list.length);
  const ids = new Int32Array(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const list of lists) {
    ids.set(list, at);
    at += list.length;
  }
  return { ids, lengths };
}

/** The lists again, as views of the one array. */
export function unpackIds({ ids, lengths }: PackedIds): Int32Array[] {
  let at = 0;
  return Array.from(lengths, (length) => ids.subarray(at, (at += length)));
}
