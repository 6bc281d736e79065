/** On which sides of a control token a vocabulary takes the white space away. */
export interface Strips {
  readonly left: boolean;
  readonly right: boolean;
}

/** Text to token ids and back, for one vocabulary. */
export interface Tokenizer {
  readonly name: string;
  /** How another thread gets this vocabulary: a built-in name, or the absolute path of its file. */
  readonly source: string;
  /** Hash of what it was read from: vocabularies of one fingerprint give the same ids. */
  readonly fingerprint: string;
  /** One more than the largest id. */
  readonly vocabularySize: number;
  /**
   * Token ids of `text`. A control token typed in the text (`<|start|>`) is text like any other: this method never
   * returns a control id. O(n log n) in the length of `text` whatever it holds.
   */
  encode(text: string): Int32Array;
  /** Id of the control token with this literal; undefined when the vocabulary has none. */
  controlId(text: string): number | undefined;
  /** What of the white space beside a control token belongs to none of the texts there; undefined where all of it does. */
  strips?(id: number): Strips | undefined;
  /** UTF-8 bytes of one id; a control token gives its literal; an unknown id gives no bytes. */
  bytes(id: number): Uint8Array;
  /** Text of `ids`, control tokens as their literals; bytes that are not UTF-8 become U+FFFD. */
  decode(ids: ArrayLike<number>): string;
  /** A fresh streaming decoder. */
  detokenizer(): Detokenizer;
}

/** A tokenizer whose work on a long text can be put aside. */
export interface SteppedTokenizer extends Tokenizer {
  /** The ids that `encode` gives, with a pause after every few milliseconds of work, also inside one long word. */
  steps(text: string): Iterator<void, Int32Array>;
}

/** Decodes a stream of ids. Text comes out as soon as its characters are whole. */
export interface Detokenizer {
  /** Text that became whole with this id; '' while a character is still incomplete. */
  push(id: number): string;
  /** What is left of an incomplete character, as U+FFFD, and a reset. */
  flush(): string;
}
