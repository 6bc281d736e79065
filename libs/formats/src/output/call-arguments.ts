import { JsonStringDecoder } from './json-string.js';
import { firstVisible } from './blank.js';

const NOTHING = 'null';

/**
 * The arguments of a function as clients can read them, over any split: nothing at all, or `null`, is an empty object, and JSON
 * that was written as a JSON string is unwrapped. Anything else is handed on as it was written.
 */
export class CallArguments {
  /** What was written while that may be nothing. */
  private lead = '';
  private kind: 'unknown' | 'verbatim' | 'string' = 'unknown';
  private readonly decoder = new JsonStringDecoder();
  private isEmpty = true;

  /** @returns what can be handed on */
  push(text: string): string {
    const out = this.read(text);
    this.isEmpty &&= out === '';
    return out;
  }

  /**
   * @param complete whether the arguments are whole
   * @returns the rest of them
   */
  end(complete: boolean): string {
    const lead = this.lead.trim();
    if (lead !== '' && lead !== NOTHING) return this.lead;
    return complete && this.isEmpty ? '{}' : '';
  }

  private read(text: string): string {
    switch (this.kind) {
      case 'verbatim':
        return text;
      case 'string':
        return this.unwrapped(text, 0);
      case 'unknown': {
        const all = this.lead + text;
        const isNothing = NOTHING.startsWith(all.trim());
        this.lead = isNothing ? all : '';
        if (isNothing) return '';
        const at = firstVisible(all);
        this.kind = all.charAt(at) === '"' ? 'string' : 'verbatim';
        return this.kind === 'string' ? this.unwrapped(all, at + 1) : all;
      }
    }
  }

  private unwrapped(text: string, from: number): string {
    const end = this.decoder.read(text, from);
    const out = this.decoder.take();
    if (!this.decoder.ended) return out;
    this.kind = 'verbatim';
    return out + text.slice(end).trim();
  }
}
