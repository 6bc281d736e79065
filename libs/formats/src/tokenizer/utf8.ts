/** Writes `text[start, end)` as UTF-8 to the front of `out`, lone surrogates as U+FFFD; returns the bytes written. */
export function writeUtf8(text: string, start: number, end: number, out: Uint8Array): number {
  let at = 0;
  for (let i = start; i < end; i++) {
    let code = text.charCodeAt(i);
    if (code < 0x80) {
      out[at++] = code;
      continue;
    }
    if (code < 0x800) {
      out[at++] = 0xc0 | (code >> 6);
      out[at++] = 0x80 | (code & 0x3f);
      continue;
    }
    if (code >= 0xd800 && code <= 0xdfff) {
      const low = code < 0xdc00 && i + 1 < end ? text.charCodeAt(i + 1) : 0;
      if (low >= 0xdc00 && low <= 0xdfff) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        i++;
        out[at++] = 0xf0 | (code >> 18);
        out[at++] = 0x80 | ((code >> 12) & 0x3f);
        out[at++] = 0x80 | ((code >> 6) & 0x3f);
        out[at++] = 0x80 | (code & 0x3f);
        continue;
      }
      code = 0xfffd;
    }
    out[at++] = 0xe0 | (code >> 12);
    out[at++] = 0x80 | ((code >> 6) & 0x3f);
    out[at++] = 0x80 | (code & 0x3f);
  }
  return at;
}

/**
 * The streaming UTF-8 decoder of the WHATWG Encoding Standard (without its byte order mark rule): an ill-formed
 * sequence gives one U+FFFD per maximal part, an incomplete one waits.
 */
export class Utf8Decoder {
  private codePoint = 0;
  private needed = 0;
  private lower = 0x80;
  private upper = 0xbf;

  /** Whether no character is waiting for more bytes. */
  get idle(): boolean {
    return this.needed === 0;
  }

  decode(bytes: Uint8Array): string {
    let text = '';
    for (const byte of bytes) text += this.step(byte);
    return text;
  }

  /** U+FFFD for a waiting character, else ''. */
  flush(): string {
    if (this.idle) return '';
    this.reset();
    return '\uFFFD';
  }

  private step(byte: number): string {
    if (this.needed === 0) return this.lead(byte);
    if (byte < this.lower || byte > this.upper) {
      this.reset();
      return '\uFFFD' + this.lead(byte);
    }
    this.lower = 0x80;
    this.upper = 0xbf;
    this.codePoint = (this.codePoint << 6) | (byte & 0x3f);
    this.needed--;
    return this.needed === 0 ? String.fromCodePoint(this.codePoint) : '';
  }

  private lead(byte: number): string {
    if (byte < 0x80) return String.fromCharCode(byte);
    if (byte < 0xc2 || byte > 0xf4) return '\uFFFD';
    if (byte < 0xe0) {
      this.needed = 1;
      this.codePoint = byte & 0x1f;
    } else if (byte < 0xf0) {
      // Second bytes outside these limits would spell overlong forms or surrogates.
      if (byte === 0xe0) this.lower = 0xa0;
      if (byte === 0xed) this.upper = 0x9f;
      this.needed = 2;
      this.codePoint = byte & 0x0f;
    } else {
      if (byte === 0xf0) this.lower = 0x90;
      if (byte === 0xf4) this.upper = 0x8f;
      this.needed = 3;
      this.codePoint = byte & 0x07;
    }
    return '';
  }

  private reset(): void {
    this.needed = 0;
    this.lower = 0x80;
    this.upper = 0xbf;
  }
}
