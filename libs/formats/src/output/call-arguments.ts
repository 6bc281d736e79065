import { JsonStringDecoder } from './json-string.js';
import { firstVisible } from './blank.js';

const NOTHING = 'null';
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** The first character that need not be escaped in JSON. */
const SPACE = 0x20;

/**
 * The arguments of a function as clients can read them, over any split: nothing at all, or `null`, is an empty object, and JSON
 * that was written as a JSON string is unwrapped. Anything else is handed on as it was written, but for line breaks and other
 * control characters in the strings of JSON, which are escaped: there they are never right.
 */
export class CallArguments {
  /** What was written while that may be nothing. */
  private lead = '';
  private kind: 'unknown' | 'verbatim' | 'string' = 'unknown';
  private readonly decoder = new JsonStringDecoder();
  private isEmpty = true;
  /** Whether what is handed on is JSON; known once it has begun. */
  private isJson: boolean | undefined;
  /** Whether a string of it goes on, and its next character is escaped. */
  private quoted = false;
  private escaped = false;

  /** @returns what can be handed on */
  push(text: string): string {
    const out = this.read(text);
    this.isEmpty &&= out === '';
    this.isJson ??= out.trim() === '' ? undefined : /^\s*[{[]/.test(out);
    return this.isJson === true ? this.withEscapes(out) : out;
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

  private withEscapes(text: string): string {
    let out = '';
    let from = 0;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (!this.quoted) this.quoted = code === QUOTE;
      else if (this.escaped) this.escaped = false;
      else if (code === BACKSLASH) this.escaped = true;
      else if (code === QUOTE) this.quoted = false;
      else if (code < SPACE) {
        out += text.slice(from, at) + JSON.stringify(text.charAt(at)).slice(1, -1);
        from = at + 1;
      }
    }
    return out + text.slice(from);
  }

  private unwrapped(text: string, from: number): string {
    const end = this.decoder.read(text, from);
    const out = this.decoder.take();
    if (!this.decoder.ended) return out;
    this.kind = 'verbatim';
    return out + text.slice(end).trim();
  }
}
