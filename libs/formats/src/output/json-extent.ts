/** Follows a JSON value through its text, over any split, to where it ends. What is not JSON is followed as well as it can be. */
export class JsonExtent {
  /** Whether the value has ended: where it was closed, or before what can be none of it. */
  ended = false;
  /** Whether a string goes on. */
  quoted = false;
  private escaped = false;
  private depth = 0;

  /** Reads on from `from`; where the value, a string that went on there, or the text ends. */
  read(text: string, from: number): number {
    const { quoted } = this;
    for (let at = from; at < text.length; at++) {
      const char = text.charAt(at);
      if (this.quoted) {
        if (this.escaped) this.escaped = false;
        else if (char === '\\') this.escaped = true;
        else if (char === '"') {
          this.quoted = false;
          this.ended = this.depth === 0;
        }
      } else if (char === '"') this.quoted = true;
      else if (char === '{' || char === '[') this.depth++;
      else if (char === '}' || char === ']') {
        this.ended = this.depth <= 1;
        // The end of what stands around it, or of the value itself.
        if (this.depth === 0) return at;
        this.depth--;
      } else if (char === ',' && this.depth === 0) {
        this.ended = true;
        return at;
      }
      if (this.ended || (quoted && !this.quoted)) return at + 1;
    }
    return text.length;
  }
}
