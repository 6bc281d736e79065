import type { Piece } from '../format.js';

/** Writes pieces. Texts that follow each other become one, so that they are encoded as one. */
export class PieceWriter {
  readonly #pieces: Piece[] = [];
  #text: string;

  /** @param held text that goes together with what is written first */
  constructor(held = '') {
    this.#text = held;
  }

  /** A control token by its id, or text. */
  write(...pieces: readonly Piece[]): this {
    for (const piece of pieces) {
      if (typeof piece === 'string') {
        this.#text += piece;
      } else {
        this.seam();
        this.#pieces.push(piece);
      }
    }
    return this;
  }

  /** Text behind this is encoded by itself. */
  seam(): this {
    if (this.#text !== '') this.#pieces.push(this.#text);
    this.#text = '';
    return this;
  }

  /** Replaces the text since the last control token or seam. */
  rewrite(change: (text: string) => string): this {
    this.#text = change(this.#text);
    return this;
  }

  /** The text since the last control token or seam, which is taken back. */
  hold(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }

  /** Everything written. */
  finish(): Piece[] {
    this.seam();
    return this.#pieces;
  }
}
