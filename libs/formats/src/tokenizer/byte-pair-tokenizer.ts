import { type CutCursor, type Cutter } from './cutting.js';
import { IdBuffer } from './id-buffer.js';
import { Merger, type MergeRules } from './merge.js';
import { unicodeForm, type UnicodeForm } from './normalize.js';
import { PieceCache } from './piece-cache.js';
import { type Detokenizer, type SteppedTokenizer, type Strips } from './types.js';
import { Utf8Decoder, writeUtf8 } from './utf8.js';

/** Pieces longer than this (UTF-16 units) are rare and seldom repeat: caching them would only cost memory. */
const CACHED_PIECE_UNITS = 32;

/** Per generation: enough for the words of a code base, about 8 MB of them, 20 MB of the worst that could be sent. */
const CACHED_PIECES = 32_768;

/** UTF-16 units between two steps: under 10 ms of any text. */
const STEP_UNITS = 16_384;

/** Scratch bytes kept between pieces. */
const KEPT_BYTES = 4_096;

/** A byte-pair vocabulary. */
export interface Vocabulary extends MergeRules {
  /** What people call it. */
  readonly name: string;
  /** How another thread gets it: a built-in name, or the absolute path of its file. */
  readonly source: string;
  /** Hash of what it was read from. */
  readonly fingerprint: string;
  /** Literal by id of the control tokens, whose ids text never becomes. */
  readonly controls: ReadonlyMap<number, string>;
  /** Control tokens beside which white space is taken away. */
  readonly strips?: ReadonlyMap<number, Strips> | undefined;
  readonly cutter: Cutter;
  /**
   * Whether a piece that is a token by itself is that token (tiktoken, `ignore_merges`), or only when merging arrives
   * at it.
   */
  readonly piecesAreTokens: boolean;
  /** Unicode form that text is brought into. */
  readonly form?: UnicodeForm | undefined;
  /** Whether U+2581 stands for a space, as in vocabularies of SentencePiece. */
  readonly visibleSpaces?: boolean | undefined;
  /** Whether text is given a space before it (unless it has one), which decoding takes away again. */
  readonly leadingSpace?: 'always' | 'unlessThere' | undefined;
  /** Tokens of white space alone that are found before text is cut, by text; the longest wins. */
  readonly blanks?: ReadonlyMap<string, number> | undefined;
}

const UNKNOWN = 0;
const ITSELF = 1;
const OTHERS = 2;

/** Byte-pair encoding with the cuts, merges and control tokens of a vocabulary. */
export class BytePairTokenizer implements SteppedTokenizer {
  readonly name: string;
  readonly source: string;
  readonly fingerprint: string;
  readonly vocabularySize: number;
  private readonly merger: Merger;
  private readonly cache = new PieceCache(CACHED_PIECES);
  private readonly scratch = new Uint8Array(KEPT_BYTES);
  /** Text by id where the token is whole UTF-8, `null` where it is not; filled on first use. */
  private readonly texts: (string | null | undefined)[];
  /** Text by id of the tokens that are not made by merging, which the table need not have. */
  private readonly literals: ReadonlyMap<number, string>;
  private readonly controlIds: ReadonlyMap<string, number>;
  /** By id: whether merging the token's own text gives it; found out at first use. */
  private readonly merged: Uint8Array;
  private readonly blanks: readonly (readonly [text: string, id: number])[];
  private readonly blankStarts: ReadonlySet<number>;
  /** Bytes that are no tokens, which a vocabulary that was trained without them just leaves out. */
  private readonly missing: ReadonlySet<number>;

  constructor(private readonly vocabulary: Vocabulary) {
    const { table, controls, blanks = new Map<string, number>(), byteFallback } = vocabulary;
    this.name = vocabulary.name;
    this.source = vocabulary.source;
    this.fingerprint = vocabulary.fingerprint;
    let last = table.size - 1;
    for (const id of [...controls.keys(), ...blanks.values()]) last = Math.max(last, id);
    this.literals = new Map([...[...blanks].map(([text, id]) => [id, text] as const), ...controls]);
    this.vocabularySize = last + 1;
    this.merger = new Merger(vocabulary);
    this.texts = new Array<string | null | undefined>(this.vocabularySize);
    this.controlIds = new Map([...controls].map(([id, text]) => [text, id]));
    this.merged = new Uint8Array(table.size).fill(vocabulary.piecesAreTokens ? ITSELF : UNKNOWN);
    this.blanks = [...blanks].sort(([a], [b]) => b.length - a.length);
    this.blankStarts = new Set(this.blanks.map(([text]) => text.charCodeAt(0)));
    const bytes = byteFallback === undefined ? Array.from({ length: 256 }, (_, byte) => byte) : [];
    this.missing = new Set(bytes.filter((byte) => table.find(Uint8Array.of(byte), 0, 1) < 0));
  }

  encode(text: string): Int32Array {
    const steps = this.steps(text);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
    }
  }

  strips(id: number): Strips | undefined {
    return this.vocabulary.strips?.get(id);
  }

  controlId(text: string): number | undefined {
    return this.controlIds.get(text);
  }

  *steps(text: string): Generator<void, Int32Array> {
    // Ordinary text has about four characters a token.
    const out = new IdBuffer(16 + (text.length >> 2));
    if (this.blanks.length === 0) {
      yield* this.encodeRun(text, out);
      return out.since(0);
    }
    let paused = 0;
    for (let start = 0; start < text.length;) {
      const [at, length, id] = this.nextBlank(text, start);
      if (at > start) yield* this.encodeRun(text.slice(start, at), out);
      if (length > 0) out.push(id);
      start = at + length;
      if (start - paused < STEP_UNITS || start === text.length) continue;
      yield;
      paused = start;
    }
    return out.since(0);
  }

  bytes(id: number): Uint8Array {
    const { table, controls } = this.vocabulary;
    const known = id >= 0 && id < table.size && !controls.has(id) ? table.bytes(id) : new Uint8Array(0);
    return known.length > 0 ? known.slice() : new TextEncoder().encode(this.literals.get(id) ?? '');
  }

  decode(ids: ArrayLike<number>): string {
    const detokenizer = this.detokenizer();
    let text = '';
    for (let i = 0; i < ids.length; i++) text += detokenizer.push(ids[i] as number);
    return text + detokenizer.flush();
  }

  detokenizer(): Detokenizer {
    const decoder = new Utf8Decoder();
    let first = this.vocabulary.leadingSpace !== undefined;
    const tokenText = (id: number): string => {
      if (decoder.idle) {
        const text = this.wholeText(id);
        if (text !== null) return text;
      }
      return decoder.decode(this.bytes(id));
    };
    return {
      push: (id) => {
        const text = tokenText(id);
        if (!first || text === '') return text;
        first = false;
        return text.startsWith(' ') ? text.slice(1) : text;
      },
      flush: () => {
        first = this.vocabulary.leadingSpace !== undefined;
        return decoder.flush();
      },
    };
  }

  /** The first blank token from `start` on, as [where, length, id]; length 0 at the end of the text without one. */
  private nextBlank(text: string, start: number): [at: number, length: number, id: number] {
    for (let at = start; at < text.length; at++) {
      if (!this.blankStarts.has(text.charCodeAt(at))) continue;
      const found = this.blanks.find(([blank]) => text.startsWith(blank, at));
      if (found !== undefined) return [at, found[0].length, found[1]];
    }
    return [text.length, 0, -1];
  }

  private *encodeRun(given: string, out: IdBuffer): Generator<void, void> {
    const text = yield* this.prepare(given);
    const pieces: CutCursor = this.vocabulary.cutter.cursor(text);
    let units = 0;
    for (let start = 0; start < text.length;) {
      const end = pieces.pieceEnd(start);
      if (end - start > STEP_UNITS) yield* this.longPiece(text, start, end, out);
      else this.encodePiece(text, start, end, out);
      units += end - start;
      start = end;
      if (units < STEP_UNITS || start === text.length) continue;
      yield;
      units = 0;
    }
  }

  /** The text as the vocabulary wants it. */
  private *prepare(text: string): Generator<void, string> {
    const { form, visibleSpaces, leadingSpace } = this.vocabulary;
    let prepared = form === undefined ? text : yield* unicodeForm(text, form);
    if (visibleSpaces === true) prepared = prepared.replaceAll('\u2581', ' ');
    if (leadingSpace === undefined || text === '') return prepared;
    return leadingSpace === 'unlessThere' && prepared.startsWith(' ') ? prepared : ` ${prepared}`;
  }

  private *longPiece(text: string, start: number, end: number, out: IdBuffer): Generator<void, void> {
    const bytes = new Uint8Array((end - start) * 3);
    const length = this.writeBytes(text, start, end, bytes);
    yield* this.merger.mergeInSteps(bytes, length, out, STEP_UNITS);
  }

  private encodePiece(text: string, start: number, end: number, out: IdBuffer): void {
    const units = end - start;
    const bytes = units * 3 <= KEPT_BYTES ? this.scratch : new Uint8Array(units * 3);
    const length = this.writeBytes(text, start, end, bytes);
    if (length === 0) return;
    // Most pieces of ordinary text are one token: that look-up needs no substring and no cache.
    const id = this.vocabulary.table.find(bytes, 0, length);
    if (id >= 0 && this.isMerged(id, bytes, length)) {
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

  /** UTF-8 of the text, without the bytes that are no tokens; how many were written. */
  private writeBytes(text: string, start: number, end: number, bytes: Uint8Array): number {
    const length = writeUtf8(text, start, end, bytes);
    if (this.missing.size === 0) return length;
    let kept = 0;
    for (let i = 0; i < length; i++) {
      const byte = bytes[i] as number;
      if (!this.missing.has(byte)) bytes[kept++] = byte;
    }
    return kept;
  }

  /** Whether the token, whose bytes these are, is what merging them gives. */
  private isMerged(id: number, bytes: Uint8Array, length: number): boolean {
    const known = this.merged[id];
    if (known !== UNKNOWN) return known === ITSELF;
    const ids = new IdBuffer(4);
    this.merger.merge(bytes, length, ids);
    const itself = ids.length === 1 && ids.since(0)[0] === id;
    this.merged[id] = itself ? ITSELF : OTHERS;
    return itself;
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
