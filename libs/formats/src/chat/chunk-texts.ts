import type { Tokenizer } from '../tokenizer/types.js';

/** A stretch of bytes, or a control id that stands between two of them. */
export type TextPart = Buffer | number;

/** Bytes of a chunk of ids, as far as they have been asked for. */
interface ChunkText {
  bytes: Buffer;
  usedBytes: number;
  usedIds: number;
  /** Places up to which the bytes of as many ids are known, in their order. */
  readonly ends: { readonly ids: number; readonly bytes: number }[];
  /** Control ids, and where among the bytes they stand. */
  readonly controls: { readonly id: number; readonly index: number; readonly at: number }[];
}

/**
 * Turns ids back into the bytes of their text. Ids come in chunks that are written once, front to back: what has been turned
 * is kept with the memory of its chunk, so that a conversation costs what is new in it.
 */
export class ChunkTexts {
  readonly #tokenizer: Pick<Tokenizer, 'bytes'>;
  readonly #isControl: (id: number) => boolean;
  readonly #known = new WeakMap<ArrayBufferLike, ChunkText>();
  /** Ids turned so far, for those who count work. */
  turned = 0;

  constructor(tokenizer: Pick<Tokenizer, 'bytes'>, isControl: (id: number) => boolean) {
    this.#tokenizer = tokenizer;
    this.#isControl = isControl;
  }

  /** @param ids the first ids of a chunk: a view that begins where its memory does. */
  partsOf(ids: Int32Array): TextPart[] {
    const known = this.#upTo(ids);
    const end = this.#bytesOf(known, ids);
    const parts: TextPart[] = [];
    let from = 0;
    for (const { id, index, at } of known.controls) {
      if (index >= ids.length) break;
      if (at > from) parts.push(known.bytes.subarray(from, at));
      parts.push(id);
      from = at;
    }
    if (end > from) parts.push(known.bytes.subarray(from, end));
    return parts;
  }

  /** The text of the chunk, with at least these ids in it. */
  #upTo(ids: Int32Array): ChunkText {
    const known = this.#known.get(ids.buffer) ?? {
      bytes: Buffer.alloc(0),
      usedBytes: 0,
      usedIds: 0,
      ends: [],
      controls: [],
    };
    this.#known.set(ids.buffer, known);
    for (let index = known.usedIds; index < ids.length; index++) {
      const id = ids[index] ?? 0;
      if (this.#isControl(id)) known.controls.push({ id, index, at: known.usedBytes });
      else append(known, this.#tokenizer.bytes(id));
      this.turned++;
    }
    if (ids.length > known.usedIds) {
      known.usedIds = ids.length;
      known.ends.push({ ids: ids.length, bytes: known.usedBytes });
    }
    return known;
  }

  /** Bytes of these ids, which may be fewer than those that are known: a fork goes on from anywhere. */
  #bytesOf(known: ChunkText, ids: Int32Array): number {
    if (ids.length === known.usedIds) return known.usedBytes;
    const before = known.ends.findLast((end) => end.ids <= ids.length) ?? { ids: 0, bytes: 0 };
    let { bytes } = before;
    for (let index = before.ids; index < ids.length; index++) {
      const id = ids[index] ?? 0;
      if (!this.#isControl(id)) bytes += this.#tokenizer.bytes(id).length;
    }
    return bytes;
  }
}

/** Writes behind what is there. Views of it stay as they are: bytes that were given out are never written to again. */
function append(known: ChunkText, bytes: Uint8Array): void {
  const end = known.usedBytes + bytes.length;
  if (end > known.bytes.length) {
    const larger = Buffer.alloc(Math.max(1_024, 2 * end));
    known.bytes.copy(larger, 0, 0, known.usedBytes);
    known.bytes = larger;
  }
  known.bytes.set(bytes, known.usedBytes);
  known.usedBytes = end;
}
