import { type TokenTable } from './token-table.js';

/** Rank of two parts that do not join. */
export const NONE = 0x7fffffff;

/** Which neighbouring parts of a piece join, and in which order: the lowest rank first. */
export interface JoinRule {
  /** Rank of joining the parts with these ids (-1: none), whose bytes are `bytes[start, end)` together; or `NONE`. */
  rank(left: number, right: number, bytes: Uint8Array, start: number, end: number): number;
  /** Id of what a join of this rank makes of `bytes[start, end)`. */
  joined(rank: number, bytes: Uint8Array, start: number, end: number): number;
}

/** Parts join when their bytes together are a token, whose id is the rank: how vocabularies of tiktoken are merged. */
export class RankJoins implements JoinRule {
  constructor(private readonly table: TokenTable) {}

  rank(_left: number, _right: number, bytes: Uint8Array, start: number, end: number): number {
    const id = this.table.find(bytes, start, end);
    return id < 0 ? NONE : id;
  }

  joined(rank: number): number {
    return rank;
  }
}

/** Parts join when their bytes together are a token, the one with the highest score first: SentencePiece. */
export class ScoreJoins implements JoinRule {
  private readonly ranks: Int32Array;

  /** @param scores by id */
  constructor(
    private readonly table: TokenTable,
    scores: ArrayLike<number>,
  ) {
    const descending = [...new Set(Array.from(scores))].sort((a, b) => b - a);
    const rankOf = new Map(descending.map((score, rank) => [score, rank]));
    this.ranks = Int32Array.from({ length: table.size }, (_, id) => rankOf.get(scores[id] ?? NaN) ?? NONE);
  }

  rank(_left: number, _right: number, bytes: Uint8Array, start: number, end: number): number {
    const id = this.table.find(bytes, start, end);
    return id < 0 ? NONE : (this.ranks[id] as number);
  }

  joined(_rank: number, bytes: Uint8Array, start: number, end: number): number {
    return this.table.find(bytes, start, end);
  }
}

/** Parts join when the vocabulary lists them as a pair; its place in the list is the rank: tokenizer.json and GGUF. */
export class PairJoins implements JoinRule {
  private readonly mask: number;
  private readonly slots: Int32Array;

  /** Three arrays by rank: ids of the two parts, and of what they make. Of equal pairs the last counts. */
  constructor(
    private readonly lefts: Int32Array,
    private readonly rights: Int32Array,
    private readonly made: Int32Array,
  ) {
    let capacity = 1024;
    while (capacity < made.length * 2) capacity *= 2;
    this.mask = capacity - 1;
    this.slots = new Int32Array(capacity);
    for (let rank = 0; rank < made.length; rank++) {
      this.slots[this.slotOf(lefts[rank] as number, rights[rank] as number)] = rank + 1;
    }
  }

  rank(left: number, right: number): number {
    if (left < 0 || right < 0) return NONE;
    const entry = this.slots[this.slotOf(left, right)] as number;
    return entry === 0 ? NONE : entry - 1;
  }

  joined(rank: number): number {
    return this.made[rank] as number;
  }

  /** The slot of a pair, or the free one where it belongs. */
  private slotOf(left: number, right: number): number {
    const { slots, mask, lefts, rights } = this;
    const mixed = Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b);
    let slot = (mixed ^ (mixed >>> 15)) & mask;
    for (;;) {
      const rank = (slots[slot] as number) - 1;
      if (rank < 0 || (lefts[rank] === left && rights[rank] === right)) return slot;
      slot = (slot + 1) & mask;
    }
  }
}
