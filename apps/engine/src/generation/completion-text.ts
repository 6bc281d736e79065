import { HARMONY, type Tokenizer } from '@turnpike/formats';
import { type OutputText } from './output-text.js';

/** Every id from here on is a control token. */
const FIRST_CONTROL: number = HARMONY.startOfText;

/** The text beside the ids, for clients that read text: it comes as soon as its characters are whole. */
export class CompletionText implements OutputText {
  private readonly detokenizer;

  constructor(
    tokenizer: Tokenizer,
    private readonly skipSpecialTokens: boolean,
  ) {
    this.detokenizer = tokenizer.detokenizer();
  }

  push(ids: Int32Array, stop: number | null, last: boolean): string {
    let text = '';
    for (const [i, id] of ids.entries()) {
      if (last && id === stop && i === ids.length - 1) continue;
      if (id >= FIRST_CONTROL && this.skipSpecialTokens) text += this.detokenizer.flush();
      else text += this.detokenizer.push(id);
    }
    return last ? text + this.detokenizer.flush() : text;
  }
}
