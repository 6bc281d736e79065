import { type OutputHeader } from '../format.js';
import { BLANK, firstVisible } from './blank.js';
import { type MessageWriter } from './message-writer.js';

/**
 * Text of a message. Empty lines before it are layout, and so is white space before a marker; white space is therefore
 * held until something follows.
 */
export class Prose {
  private blank = '';
  /** Whether its message has begun. */
  begun = false;

  /**
   * @param header of the message, asked for when it begins
   * @param from number of the id that it begins at; undefined when that is the first of its text
   */
  constructor(
    private readonly writer: MessageWriter,
    private readonly header: () => OutputHeader,
    private readonly from?: number,
  ) {}

  /** Whether its last line has text. */
  get inLine(): boolean {
    return this.begun && !this.blank.includes('\n');
  }

  text(text: string, idAt: (offset: number) => number): void {
    let end = text.length;
    while (end > 0 && BLANK.includes(text.charAt(end - 1))) end--;
    if (end === 0) {
      this.blank += text;
      return;
    }
    let body = this.blank + text.slice(0, end);
    this.blank = text.slice(end);
    if (!this.begun) {
      const start = firstVisible(text);
      this.writer.open(this.header(), this.from ?? idAt(start));
      this.begun = true;
      body = body.slice(body.slice(0, firstVisible(body)).lastIndexOf('\n') + 1);
    }
    this.writer.write(body);
  }

  /** @param laidOut whether what follows is a marker that white space before it belongs to */
  end(complete: boolean, laidOut: boolean): void {
    if (!this.begun) return;
    if (!laidOut) this.writer.write(this.blank);
    this.writer.end(complete);
  }
}
