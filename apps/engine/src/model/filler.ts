import { type Tokenizer } from '@turnpike/formats';

/** Plain words, each one token with the blank before it. */
const WORDS =
  ' the river runs past the old mill and under a stone bridge where people stop to talk about the weather' +
  ' while small boats carry bread and letters from one side to the other until the evening light is gone then';

/** Endless text of plain words: as many tokens as one wants, cut anywhere. */
export class Filler {
  /** One round of the words. */
  readonly round: Int32Array;

  constructor(tokenizer: Tokenizer) {
    this.round = tokenizer.encode(WORDS);
  }

  tokens(count: number): Int32Array {
    return Int32Array.from({ length: Math.max(0, count) }, (_, i) => this.round[i % this.round.length] ?? 0);
  }
}
