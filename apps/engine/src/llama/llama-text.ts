import { type OutputText } from '../generation/output-text.js';
import { type LlamaModel } from './node-llama-cpp.js';

/** What a character that is not whole decodes to. */
const REPLACEMENT = '\ufffd';
/** A UTF-8 character has four bytes, so that many tokens at most are missing its end. */
const MOST_PENDING = 3;

/** The text beside the ids: it comes as soon as its characters are whole. */
export class LlamaText implements OutputText {
  private pending: number[] = [];
  private before: number[] = [];

  constructor(
    private readonly model: Pick<LlamaModel, 'detokenize' | 'isEogToken'>,
    private readonly skipSpecialTokens: boolean,
  ) {}

  push(ids: Int32Array, stop: number | null, last: boolean): string {
    const final = ids.at(-1);
    const ends = last && final !== undefined && (final === stop || this.model.isEogToken(final));
    this.pending.push(...(ends ? ids.subarray(0, -1) : ids));
    const most = last ? 0 : Math.min(MOST_PENDING, this.pending.length);
    for (let left = 0; left <= most; left++) {
      const text = this.decode(this.pending.length - left);
      if (!text.endsWith(REPLACEMENT)) return this.take(this.pending.length - left, text);
    }
    // It is not going to be whole.
    return this.take(this.pending.length, this.decode(this.pending.length));
  }

  private decode(count: number): string {
    return this.model.detokenize(
      this.pending.slice(0, Math.max(0, count)),
      !this.skipSpecialTokens,
      this.before,
    );
  }

  private take(count: number, text: string): string {
    if (count === 0) return '';
    this.before = this.pending.splice(0, count);
    return text;
  }
}
