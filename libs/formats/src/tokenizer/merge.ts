import { type IdBuffer } from './id-buffer.js';
import { NONE, type JoinRule } from './joins.js';
import { type TokenTable } from './token-table.js';

/**
 * Up to this many bytes the lowest pair is found by looking at all of them, which beats a heap on pieces of the
 * size of a word and bounds the cost of the others.
 */
const SCAN_LIMIT = 96;

/** Positions in a piece stay below this, so that (rank, position) fits one double that sorts by both. */
const POSITION_SPAN = 2 ** 32;

/** What merging is done by. */
export interface MergeRules {
  readonly table: TokenTable;
  readonly joins: JoinRule;
  /** Ids of the 256 bytes, for characters that are no token; without them merging begins with bytes, not characters. */
  readonly byteFallback?: Int32Array | undefined;
}

/** Byte-pair merging: joins the adjacent pair of lowest rank, the leftmost of equals, until no pair joins. */
export class Merger {
  private readonly starts = new Int32Array(SCAN_LIMIT + 1);
  private readonly ids = new Int32Array(SCAN_LIMIT);
  /** Rank of joining each part with its right neighbour. */
  private readonly ranks = new Int32Array(SCAN_LIMIT);

  constructor(private readonly rules: MergeRules) {}

  /** Appends the ids of `bytes[0, length)` to `out`. O(n log n). */
  merge(bytes: Uint8Array, length: number, out: IdBuffer): void {
    if (length <= SCAN_LIMIT) this.mergeByScan(bytes, length, out);
    else {
      const merge = new HeapMerge(this.rules, bytes, length);
      merge.step(Infinity);
      merge.write(out);
    }
  }

  /** The same for a piece of any length, pausing after `most` bytes looked at or pairs joined. */
  *mergeInSteps(bytes: Uint8Array, length: number, out: IdBuffer, most: number): Generator<void, void> {
    const merge = new HeapMerge(this.rules, bytes, length);
    while (!merge.step(most)) yield;
    merge.write(out);
  }

  private mergeByScan(bytes: Uint8Array, length: number, out: IdBuffer): void {
    const { starts, ids, ranks, rules } = this;
    const { table, joins, byteFallback } = rules;
    let count = 0;
    for (let at = 0; at < length; count++) {
      const end = byteFallback === undefined ? at + 1 : characterEnd(bytes, at);
      starts[count] = at;
      ids[count] = table.find(bytes, at, end);
      if (count > 0) ranks[count - 1] = this.rank(count - 1, bytes, end);
      at = end;
    }
    ranks[count - 1] = NONE;
    starts[count] = length;
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
      const joinedEnd = starts[at + 2] as number;
      ids[at] = joins.joined(lowest, bytes, starts[at] as number, joinedEnd);
      count--;
      for (let i = at + 1; i < count; i++) {
        starts[i] = starts[i + 1] as number;
        ids[i] = ids[i + 1] as number;
        ranks[i] = ranks[i + 1] as number;
      }
      starts[count] = length;
      ranks[at] = at + 1 < count ? this.rank(at, bytes, starts[at + 2] as number) : NONE;
      if (at > 0) ranks[at - 1] = this.rank(at - 1, bytes, joinedEnd);
    }
    for (let i = 0; i < count; i++) {
      writePart(rules, ids[i] as number, bytes, starts[i] as number, starts[i + 1] as number, out);
    }
  }

  /** Rank of joining part `at` with the next, which ends at `end`. */
  private rank(at: number, bytes: Uint8Array, end: number): number {
    const { starts, ids, rules } = this;
    return rules.joins.rank(ids[at] as number, ids[at + 1] as number, bytes, starts[at] as number, end);
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
  /** Bytes that have entered the list, and the last part that has. */
  private entered = 0;
  private last = -1;

  constructor(
    private readonly rules: MergeRules,
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
    for (; this.entered < length && left > 0; left--) this.enter();
    for (; heap.length > 0 && left > 0; left--) this.join(heapPop(heap));
    return this.entered === length && heap.length === 0;
  }

  /** Appends the ids of the parts there are now. */
  write(out: IdBuffer): void {
    const { rules, ids, bytes, next } = this;
    for (let at = 0; at < this.length; at = next[at] as number) {
      writePart(rules, ids[at] as number, bytes, at, next[at] as number, out);
    }
  }

  private enter(): void {
    const { rules, bytes, last } = this;
    const at = this.entered;
    const end = rules.byteFallback === undefined ? at + 1 : characterEnd(bytes, at);
    this.next[at] = end;
    this.previous[at] = last;
    this.ids[at] = rules.table.find(bytes, at, end);
    this.ranks[at] = NONE;
    if (last >= 0) this.offer(last, at);
    this.last = at;
    this.entered = end;
  }

  private join(entry: number): void {
    const { next, previous, ranks, length, rules, bytes } = this;
    const rank = Math.floor(entry / POSITION_SPAN);
    const at = entry - rank * POSITION_SPAN;
    if (ranks[at] !== rank) return;
    const absorbed = next[at] as number;
    const end = next[absorbed] as number;
    this.ids[at] = rules.joins.joined(rank, bytes, at, end);
    next[at] = end;
    if (end < length) previous[end] = at;
    ranks[absorbed] = NONE;
    if (end < length) this.offer(at, end);
    else ranks[at] = NONE;
    const before = previous[at] as number;
    if (before >= 0) this.offer(before, at);
  }

  /** Notes the rank of joining two neighbours. */
  private offer(left: number, right: number): void {
    const { ids, rules, bytes, next } = this;
    const end = next[right] as number;
    const rank = rules.joins.rank(ids[left] as number, ids[right] as number, bytes, left, end);
    this.ranks[left] = rank;
    if (rank !== NONE) heapPush(this.heap, rank * POSITION_SPAN + left);
  }
}

/** Writes a part: its id, or those of its bytes when it is no token. */
function writePart(
  { byteFallback }: MergeRules,
  id: number,
  bytes: Uint8Array,
  start: number,
  end: number,
  out: IdBuffer,
): void {
  if (id >= 0 || byteFallback === undefined) out.push(id);
  else for (let i = start; i < end; i++) out.push(byteFallback[bytes[i] as number] as number);
}

/** Where the character of well-formed UTF-8 that begins at `at` ends. */
function characterEnd(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] as number;
  return at + (lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4);
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
