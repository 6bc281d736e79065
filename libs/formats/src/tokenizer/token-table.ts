/**
 * The byte strings of a vocabulary, and the way back from bytes to id.
 *
 * All bytes lie in one buffer and the index is a flat open-addressing table: 200,000 entries cost about 6 MB and
 * no object each, load in a fraction of a second, and a look-up allocates nothing.
 */
export class TokenTable {
  /** Ids are 0 .. size - 1. */
  readonly size: number;
  /** Length in bytes of the longest token: no longer run can be one. */
  readonly longest: number;
  private readonly slots: Int32Array;
  private readonly mask: number;

  /**
   * @param data bytes of all tokens, one after the other
   * @param ends offset in `data` where each token ends
   * @param isText whether text may become a token, so that `find` finds it; by default all may. Of equal tokens the
   *   first is found.
   */
  constructor(
    private readonly data: Uint8Array,
    private readonly ends: Uint32Array,
    isText: (id: number) => boolean = () => true,
  ) {
    this.size = ends.length;
    // At most half full, so that probe runs stay short.
    let capacity = 1024;
    while (capacity < this.size * 2) capacity *= 2;
    this.mask = capacity - 1;
    this.slots = new Int32Array(capacity);
    let longest = 0;
    let start = 0;
    for (let id = 0; id < this.size; id++) {
      const end = ends[id] as number;
      if (end === start || !isText(id)) {
        start = end;
        continue;
      }
      longest = Math.max(longest, end - start);
      let slot = hash(data, start, end) & this.mask;
      while (this.slots[slot] !== 0) slot = (slot + 1) & this.mask;
      this.slots[slot] = id + 1; // 0 marks a free slot
      start = end;
    }
    this.longest = longest;
  }

  /** Id of the token whose bytes are `bytes[start, end)`, or -1. */
  find(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    if (length > this.longest) return -1;
    const { slots, mask, ends, data } = this;
    let slot = hash(bytes, start, end) & mask;
    for (;;) {
      const id = (slots[slot] as number) - 1;
      if (id < 0) return -1;
      const from = id === 0 ? 0 : (ends[id - 1] as number);
      if ((ends[id] as number) - from === length) {
        let same = 0;
        while (same < length && data[from + same] === bytes[start + same]) same++;
        if (same === length) return id;
      }
      slot = (slot + 1) & mask;
    }
  }

  /** Bytes of token `id` (0 .. size - 1), a view that must not be written to. */
  bytes(id: number): Uint8Array {
    return this.data.subarray(id === 0 ? 0 : this.ends[id - 1], this.ends[id]);
  }
}

/** FNV-1a, its high bits folded in because the table index takes the low ones. */
function hash(bytes: Uint8Array, start: number, end: number): number {
  let value = 0x811c9dc5;
  for (let i = start; i < end; i++) value = Math.imul(value ^ (bytes[i] as number), 0x01000193);
  return value ^ (value >>> 15);
}
