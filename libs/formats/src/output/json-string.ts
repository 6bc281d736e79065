const SIMPLE: Readonly<Record<string, string | undefined>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** Decodes JSON strings that come in parts. Begins behind the opening quote; after the closing one it begins anew. */
export class JsonStringDecoder {
  /** Whether the last part ended with the closing quote. */
  ended = false;
  /** The closing quote; Python has two. */
  quote = '"';
  private text = '';
  /** An escape that is not whole yet, from its backslash on. */
  private escape = '';

  /** Reads from `at` on; where the string or the text ends. */
  read(source: string, at: number): number {
    this.ended = false;
    let from = at;
    for (let i = at; i < source.length; i++) {
      const char = source.charAt(i);
      if (this.escape !== '') {
        this.readEscape(char);
        from = i + 1;
      } else if (char === '\\') {
        this.text += source.slice(from, i);
        this.escape = '\\';
      } else if (char === this.quote) {
        this.text += source.slice(from, i);
        this.ended = true;
        return i + 1;
      }
    }
    if (this.escape === '') this.text += source.slice(from);
    return source.length;
  }

  /** The text decoded since the last time. */
  take(): string {
    const { text } = this;
    // Half of a pair waits for the other half.
    const keep = /[\ud800-\udbff]$/.test(text) && !this.ended ? 1 : 0;
    this.text = text.slice(text.length - keep);
    return text.slice(0, text.length - keep).toWellFormed();
  }

  private readEscape(char: string): void {
    this.escape += char;
    if (this.escape.startsWith('\\u')) {
      if (this.escape.length < 6) return;
      const code = Number.parseInt(this.escape.slice(2), 16);
      this.text += /^[0-9a-f]{4}$/i.test(this.escape.slice(2)) ? String.fromCharCode(code) : this.escape;
    } else {
      this.text += SIMPLE[char] ?? char;
    }
    this.escape = '';
  }
}
