import { type IdBuffer } from './id-buffer.js';
import { type TokenTable } from './token-table.js';

/**
 * Up to this many bytes the lowest pair is found by looking at all of them, which beats a heap on pieces of the
 * size of a word and bounds the cost of the others.
 */
const SCAN_LIMIT = 96;

const NONE = 0x7fffffff;

/** Positions in a piece stay below this, so that (rank, position) fits one double that sorts by both. */
const POSITION_SPAN = 2 ** 32;

/** Byte-pair merging: joins the adjacent pair of lowest rank, the leftmost of equals, until no pair is a token. */
export class Merger {
  private readonly starts = new Int32Array(SCAN_LIMIT + 1);
  private readonly ids = new Int32Array(SCAN_LIMIT);
  /** Rank of the token that each part would make with its right neighbour. */
  private readonly ranks = new Int32Array(SCAN_LIMIT);

  constructor(private readonly table: TokenTable) {}

  /** Appends the ids of `bytes[0, length)` to `out`. O(n log n). */
  merge(bytes: Uint8Array, length: number, out: IdBuffer): void {
    if (length <= SCAN_LIMIT) this.mergeByScan(bytes, length, out);
    else {
      const merge = new HeapMerge(this.table, bytes, length);
      merge.step(Infinity);
      merge.write(out);
    }
  }

  /** The same for a piece of any length, pausing after `most` bytes looked at or pairs joined. */
  *mergeInSteps(bytes: Uint8Array, length: number, out: IdBuffer, most: number): Generator<void, void> {
    const merge = new HeapMerge(this.table, bytes, length);
    while (!merge.step(most)) yield;
    merge.write(out);
  }

  private rank(bytes: Uint8Array, start: number, end: number): number {
    return rankIn(this.table, bytes, start, end);
  }

  private mergeByScan(bytes: Uint8Array, length: number, out: IdBuffer): void {
    const { starts, ids, ranks } = this;
    let count = length;
    for (let i = 0; i < length; i++) {
      starts[i] = i;
      ids[i] = this.table.find(bytes, i, i + 1);
      ranks[i] = i + 1 < length ? this.rank(bytes, i, i + 2) : NONE;
    }
    starts[length] = length;
    for (;;) {
      let lowest = NONE;
      let at = -1;
      for (let i = 0; i < count; i++) {
        const rank = ranks[i] as number;
        if (rank < lowest) {
          lowest = rank;
          at = i;
        }
      }
      if (at < 0) break;
      ids[at] = lowest;
      count--;
      for (let i = at + 1; i < count; i++) {
        starts[i] = starts[i + 1] as number;
        ids[i] = ids[i + 1] as number;
        ranks[i] = ranks[i + 1] as number;
      }
      starts[count] = length;
      const start = starts[at] as number;
      const end = starts[at + 1] as number;
      ranks[at] = at + 1 < count ? this.rank(bytes, start, starts[at + 2] as number) : NONE;
      if (at > 0) ranks[at - 1] = this.rank(bytes, starts[at - 1] as number, end);
    }
    for (let i = 0; i < count; i++) out.push(ids[i] as number);
  }
}

/**
 * The merge of one long piece, in steps. Parts are a linked list by start offset. Heap entries are never removed
 * early: one whose rank is old is skipped.
 */
class HeapMerge {
  private readonly next: Int32Array;
  private readonly previous: Int32Array;
  private readonly ids: Int32Array;
  private readonly ranks: Int32Array;
  private readonly heap: number[] = [];
  /** Bytes that have entered the list. */
  private entered = 0;

  constructor(
    private readonly table: TokenTable,
    private readonly bytes: Uint8Array,
    private readonly length: number,
  ) {
    this.next = new Int32Array(length + 1);
    this.previous = new Int32Array(length + 1);
    this.ids = new Int32Array(length);
    this.ranks = new Int32Array(length);
  }

  /** Goes on for up to `most` bytes or merges; true when nothing is left to do. */
  step(most: number): boolean {
    const { heap, length } = this;
    let left = most;
    for (; this.entered < length && left > 0; left--) this.enter(this.entered++);
    for (; heap.length > 0 && left > 0; left--) this.join(heapPop(heap));
    return this.entered === length && heap.length === 0;
  }

  /** Appends the ids of the parts there are now. */
  write(out: IdBuffer): void {
    for (let i = 0; i < this.length; i = this.next[i] as number) out.push(this.ids[i] as number);
  }

  private enter(at: number): void {
    this.next[at] = at + 1;
    this.previous[at] = at - 1;
    this.ids[at] = this.table.find(this.bytes, at, at + 1);
    this.offer(at, at + 2);
  }

  private join(entry: number): void {
    const { next, previous, ranks, length } = this;
    const rank = Math.floor(entry / POSITION_SPAN);
    const at = entry - rank * POSITION_SPAN;
    if (ranks[at] !== rank) return;
    const absorbed = next[at] as number;
    const end = next[absorbed] as number;
    this.ids[at] = rank;
    next[at] = end;
    if (end < length) previous[end] = at;
    ranks[absorbed] = NONE;
    this.offer(at, end < length ? (next[end] as number) : length + 1);
    const before = previous[at] as number;
    if (before >= 0) this.offer(before, end);
  }

  /** Notes the rank of the token that ends at `end`, beyond the piece when there is no neighbour. */
  private offer(at: number, end: number): void {
    const rank = end > this.length ? NONE : rankIn(this.table, this.bytes, at, end);
    this.ranks[at] = rank;
    if (rank !== NONE) heapPush(this.heap, rank * POSITION_SPAN + at);
  }
}

function rankIn(table: TokenTable, bytes: Uint8Array, start: number, end: number): number {
  const id = table.find(bytes, start, end);
  return id < 0 ? NONE : id;
}

function heapPush(heap: number[], entry: number): void {
  let at = heap.length;
  heap.push(entry);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent] as number;
    if (above <= entry) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = entry;
}

/** Takes the smallest entry of a heap that is not empty. */
function heapPop(heap: number[]): number {
  const smallest = heap[0] as number;
  const moved = heap.pop() as number;
  const size = heap.length;
  if (size === 0) return smallest;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= size) break;
    if (child + 1 < size && (heap[child + 1] as number) < (heap[child] as number)) child++;
    const below = heap[child] as number;
    if (below >= moved) break;
    heap[at] = below;
    at = child;
  }
  heap[at] = moved;
  return smallest;
}
