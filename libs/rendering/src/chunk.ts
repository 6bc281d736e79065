/** Capacities of chunks, in ids. */
export const MIN_CHUNK_IDS = 256;
export const MAX_CHUNK_IDS = 65_536;
/** Vocabularies have up to six digits, and a comma follows. Longer ids fill the text before the ids. */
const JSON_BYTES_PER_ID = 7;
const COMMA = 0x2c;
const ZERO = 0x30;

/** Memory that logs share: written once, front to back, and never again. */
export class Chunk {
  readonly capacity: number;
  readonly ids: Int32Array;
  /** JSON text of `ids`, a comma after each. */
  readonly json: Buffer;
  #used = 0;
  #usedBytes = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.ids = new Int32Array(capacity);
    this.json = Buffer.alloc(capacity * JSON_BYTES_PER_ID);
  }

  /** Ids written so far. */
  get used(): number {
    return this.#used;
  }
  get usedBytes(): number {
    return this.#usedBytes;
  }

  /**
   * Writes as many of the ids as fit behind what is there; returns how many.
   * @throws RangeError for a negative id
   */
  write(ids: Int32Array): number {
    const room = Math.min(ids.length, this.capacity - this.#used);
    let bytes = this.#usedBytes;
    let written = 0;
    for (const id of ids.subarray(0, room)) {
      if (id < 0) throw new RangeError(`${id} is not a token id.`);
      const end = bytes + digitsOf(id);
      if (end >= this.json.length) break;
      writeDigits(this.json, id, end);
      this.json[end] = COMMA;
      bytes = end + 1;
      written += 1;
    }
    this.ids.set(ids.subarray(0, written), this.#used);
    this.#used += written;
    this.#usedBytes = bytes;
    return written;
  }

  /** Bytes of text of the ids from `start` to before `end`. */
  bytesOf(start: number, end: number): number {
    let bytes = 0;
    for (const id of this.ids.subarray(start, end)) bytes += digitsOf(id) + 1;
    return bytes;
  }
}

function digitsOf(id: number): number {
  let digits = 1;
  for (let rest = id; rest >= 10; rest = Math.trunc(rest / 10)) digits += 1;
  return digits;
}

function writeDigits(json: Buffer, id: number, end: number): void {
  let at = end;
  let rest = id;
  do {
    at -= 1;
    json[at] = ZERO + (rest % 10);
    rest = Math.trunc(rest / 10);
  } while (rest > 0);
}
