import { GrowableBytes, GrowableInts } from './growable.js';

/** A byte offset is remembered for every so many tokens. */
const STRIDE = 256;
const COMMA = 0x2c;

/** The canonical JSON of ids inside an array, each followed by a comma: "1,2,3,". */
export function idsToJson(ids: ArrayLike<number>): Buffer {
  if (ids.length === 0) return Buffer.alloc(0);
  return Buffer.from(`${Array.prototype.join.call(ids, ',')},`, 'latin1');
}

/**
 * Token ids beside the bytes of their JSON form, so that a prompt which arrives as JSON is compared with them
 * natively, byte by byte, without being parsed.
 */
export class TokenSequence {
  private readonly numbers = new GrowableInts();
  private readonly bytes = new GrowableBytes();
  /** Byte offset of token STRIDE * i. */
  private readonly marks: number[] = [0];

  /** Number of tokens. */
  get length(): number {
    return this.numbers.length;
  }

  ids(): Int32Array {
    return this.numbers.view();
  }

  /** Canonical JSON of the ids, each followed by a comma. */
  json(): Buffer {
    return this.bytes.view();
  }

  /** Appends ids; `json` is their canonical JSON with a comma after each. O(new). */
  append(ids: Int32Array, json: Buffer = idsToJson(ids)): void {
    const base = this.bytes.length;
    let tokens = this.numbers.length;
    this.numbers.append(ids);
    this.bytes.append(json);
    for (let at = 0; at < json.length; at++) {
      if (json[at] === COMMA && ++tokens % STRIDE === 0) this.marks.push(base + at + 1);
    }
  }

  /** Number of tokens whose JSON, comma included, lies before `offset`; `offset` is just after a comma, or 0. */
  tokensBefore(offset: number): number {
    if (offset === this.bytes.length) return this.numbers.length;
    let low = 0;
    let high = this.marks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.marks[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    const json = this.bytes.view();
    let tokens = low * STRIDE;
    for (let at = this.marks[low] ?? 0; at < offset; at++) if (json[at] === COMMA) tokens++;
    return tokens;
  }

  /** A sequence of its own that holds the first `tokens` tokens, whose JSON is the first `bytes` bytes. */
  prefix(tokens: number, bytes: number): TokenSequence {
    const copy = new TokenSequence();
    copy.numbers.append(this.numbers.view().subarray(0, tokens));
    copy.bytes.append(this.bytes.view().subarray(0, bytes));
    copy.marks.length = 0;
    for (const mark of this.marks) {
      if (mark > bytes) break;
      copy.marks.push(mark);
    }
    return copy;
  }
}
