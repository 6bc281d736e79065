import { IdBuffer } from './id-buffer.js';
import { Merger } from './merge.js';
import { PieceCache } from './piece-cache.js';
import { pieceEnd } from './split.js';
import { type TokenTable } from './token-table.js';
import { type Detokenizer, type SteppedTokenizer } from './types.js';
import { Utf8Decoder, writeUtf8 } from './utf8.js';

/** Pieces longer than this (UTF-16 units) are rare and seldom repeat: caching them would only cost memory. */
const CACHED_PIECE_UNITS = 32;

/** Per generation: enough for the words of a code base, about 8 MB of them, 20 MB of the worst that could be sent. */
const CACHED_PIECES = 32_768;

/** UTF-16 units between two steps: under 10 ms of any text. */
const STEP_UNITS = 16_384;

/** Scratch bytes kept between pieces. */
const KEPT_BYTES = 4_096;

/** Byte-pair encoding with the o200k split and the given ranks and control tokens. */
export class BytePairTokenizer implements SteppedTokenizer {
  readonly vocabularySize: number;
  private readonly merger: Merger;
  private readonly cache = new PieceCache(CACHED_PIECES);
  private readonly scratch = new Uint8Array(KEPT_BYTES);
  /** Text by id where the token is whole UTF-8, `null` where it is not; filled on first use. */
  private readonly texts: (string | null | undefined)[];

  /** @param controls literal by id of the control tokens; the largest of these ids sets the vocabulary size */
  constructor(
    readonly name: string,
    private readonly table: TokenTable,
    private readonly controls: ReadonlyMap<number, string>,
  ) {
    this.vocabularySize = Math.max(table.size - 1, ...controls.keys()) + 1;
    this.merger = new Merger(table);
    this.texts = new Array<string | null | undefined>(this.vocabularySize);
  }

  encode(text: string): Int32Array {
    const steps = this.steps(text);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
    }
  }

  *steps(text: string): Generator<void, Int32Array> {
    // Ordinary text has about four characters a token.
    const out = new IdBuffer(16 + (text.length >> 2));
    let units = 0;
    for (let start = 0; start < text.length;) {
      const end = pieceEnd(text, start);
      if (end - start > STEP_UNITS) yield* this.longPiece(text, start, end, out);
      else this.encodePiece(text, start, end, out);
      units += end - start;
      start = end;
      if (units < STEP_UNITS || start === text.length) continue;
      yield;
      units = 0;
    }
    return out.since(0);
  }

  bytes(id: number): Uint8Array {
    if (id >= 0 && id < this.table.size) return this.table.bytes(id).slice();
    return new TextEncoder().encode(this.controls.get(id) ?? '');
  }

  decode(ids: ArrayLike<number>): string {
    const detokenizer = this.detokenizer();
    let text = '';
    for (let i = 0; i < ids.length; i++) text += detokenizer.push(ids[i] as number);
    return text + detokenizer.flush();
  }

  detokenizer(): Detokenizer {
    const decoder = new Utf8Decoder();
    return {
      push: (id) => {
        if (decoder.idle) {
          const text = this.wholeText(id);
          if (text !== null) return text;
        }
        return decoder.decode(this.bytes(id));
      },
      flush: () => decoder.flush(),
    };
  }

  private *longPiece(text: string, start: number, end: number, out: IdBuffer): Generator<void, void> {
    const bytes = new Uint8Array((end - start) * 3);
    const length = writeUtf8(text, start, end, bytes);
    yield* this.merger.mergeInSteps(bytes, length, out, STEP_UNITS);
  }

  private encodePiece(text: string, start: number, end: number, out: IdBuffer): void {
    const units = end - start;
    const bytes = units * 3 <= KEPT_BYTES ? this.scratch : new Uint8Array(units * 3);
    const length = writeUtf8(text, start, end, bytes);
    // Most pieces of ordinary text are one token: that look-up needs no substring and no cache.
    const id = this.table.find(bytes, 0, length);
    if (id >= 0) {
      out.push(id);
      return;
    }
    if (units > CACHED_PIECE_UNITS) {
      this.merger.merge(bytes, length, out);
      return;
    }
    const piece = text.slice(start, end);
    const known = this.cache.get(piece);
    if (known !== undefined) {
      out.append(known);
      return;
    }
    const from = out.length;
    this.merger.merge(bytes, length, out);
    this.cache.set(piece, out.since(from));
  }

  /** Text of an id that is whole by itself, `null` when its bytes are part of a character. */
  private wholeText(id: number): string | null {
    const known = this.texts[id];
    if (known !== undefined) return known;
    const decoder = new Utf8Decoder();
    const text = decoder.decode(this.bytes(id));
    // U+FFFD in the text means ill-formed bytes, or the character itself: the byte path serves both.
    const whole = decoder.idle && !text.includes('\uFFFD') ? text : null;
    if (id >= 0 && id < this.texts.length) this.texts[id] = whole;
    return whole;
  }
}
