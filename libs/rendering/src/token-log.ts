import { Chunk, MIN_CHUNK_IDS, MAX_CHUNK_IDS } from './chunk.js';

/** The first `ids` ids of a chunk, behind everything in `before`. */
interface Part {
  readonly before: Part | undefined;
  readonly chunk: Chunk;
  /** Ids and bytes of all parts before this one. */
  readonly startId: number;
  readonly startByte: number;
  /** Ids and bytes of this chunk that belong to the log; others may have written behind them. */
  readonly ids: number;
  readonly bytes: number;
}

/**
 * Token ids of a prompt with their JSON text, append-only and persistent: every change returns a new log, and logs share
 * what they have in common. A log that ends where its last chunk was last written appends in place, so growing a
 * conversation costs its new ids; a fork, whose continuation finds others' ids behind its own end, begins a new chunk.
 */
export class TokenLog {
  static readonly EMPTY = new TokenLog(undefined);
  readonly #last: Part | undefined;

  private constructor(last: Part | undefined) {
    this.#last = last;
  }

  /** Number of ids. */
  get length(): number {
    return this.#last === undefined ? 0 : this.#last.startId + this.#last.ids;
  }

  /** Bytes of {@link jsonChunks}. */
  get jsonBytes(): number {
    return this.#last === undefined ? 0 : this.#last.startByte + this.#last.bytes;
  }

  /**
   * This log with `ids` behind it. O(ids).
   * @throws RangeError for a negative id
   */
  append(ids: Int32Array): TokenLog {
    let last = this.#last;
    let written = 0;
    while (written < ids.length) {
      const rest = ids.subarray(written);
      const open = last?.chunk.used === last?.ids ? last : undefined;
      const count = open?.chunk.write(rest) ?? 0;
      last =
        open !== undefined && count > 0
          ? { ...open, ids: open.chunk.used, bytes: open.chunk.usedBytes }
          : partBehind(last, new Chunk(capacityFor(rest.length, open?.chunk)));
      written += count;
    }
    return last === this.#last ? this : new TokenLog(last);
  }

  /** The first `length` ids. O(ids cut off). */
  prefix(length: number): TokenLog {
    if (length < 0 || length > this.length) throw new RangeError(`No prefix of ${length} ids.`);
    if (length === this.length) return this;
    let last = this.#last;
    while (last !== undefined && last.startId >= length) last = last.before;
    if (last === undefined) return TokenLog.EMPTY;
    const ids = Math.min(last.ids, length - last.startId);
    const bytes = last.bytes - last.chunk.bytesOf(ids, last.ids);
    return new TokenLog({ ...last, ids, bytes });
  }

  /** A copy of the ids from `start` to before `end`. */
  slice(start: number, end: number): Int32Array {
    const copy = new Int32Array(end - start);
    for (let part = this.#last; part !== undefined && part.startId + part.ids > start; part = part.before) {
      const from = Math.max(start, part.startId);
      const to = Math.min(end, part.startId + part.ids);
      if (from < to) copy.set(part.chunk.ids.subarray(from - part.startId, to - part.startId), from - start);
    }
    return copy;
  }

  /** A copy of all ids. */
  toIds(): Int32Array {
    return this.slice(0, this.length);
  }

  /** Ids at the front that this log shares with `other`, one having been made from the other. O(what is not shared). */
  sharedLength(other: TokenLog): number {
    let theirs = other.#last;
    for (let part = this.#last; part !== undefined; part = part.before) {
      while (theirs !== undefined && theirs.startId > part.startId) theirs = theirs.before;
      if (theirs?.chunk === part.chunk) return part.startId + Math.min(theirs.ids, part.ids);
    }
    return 0;
  }

  /** Memory of what this log does not share with `other`: ids and text. O(what is not shared). */
  bytesBeyond(other: TokenLog): number {
    let bytes = 0;
    let theirs = other.#last;
    for (let part = this.#last; part !== undefined; part = part.before) {
      while (theirs !== undefined && theirs.startId > part.startId) theirs = theirs.before;
      const shared = theirs?.chunk === part.chunk ? Math.min(theirs.ids, part.ids) : 0;
      bytes += (part.ids - shared) * Int32Array.BYTES_PER_ELEMENT + part.chunk.bytesOf(shared, part.ids);
      if (shared > 0) break;
    }
    return bytes;
  }

  /** The ids, in views that each begin where the memory of their chunk does: not to be written to. */
  idChunks(): Int32Array[] {
    const chunks: Int32Array[] = [];
    for (let part = this.#last; part !== undefined; part = part.before) {
      chunks.push(part.chunk.ids.subarray(0, part.ids));
    }
    return chunks.reverse();
  }

  /** The ids as JSON text, each followed by a comma: `1,22,333,`. Views of the cached bytes: not to be written to. */
  jsonChunks(): Buffer[] {
    const chunks: Buffer[] = [];
    for (let part = this.#last; part !== undefined; part = part.before) {
      chunks.push(part.chunk.json.subarray(0, part.bytes));
    }
    return chunks.reverse();
  }
}

function partBehind(before: Part | undefined, chunk: Chunk): Part {
  const startId = before === undefined ? 0 : before.startId + before.ids;
  const startByte = before === undefined ? 0 : before.startByte + before.bytes;
  return { before, chunk, startId, startByte, ids: 0, bytes: 0 };
}

/**
 * A chunk that follows a full one is twice as large, so that a long log has few. A fork starts small again: most are
 * short, and each would otherwise reserve as much as the conversation it left.
 */
function capacityFor(ids: number, full: Chunk | undefined): number {
  return Math.min(MAX_CHUNK_IDS, Math.max(MIN_CHUNK_IDS, ids, 2 * (full?.capacity ?? 0)));
}
