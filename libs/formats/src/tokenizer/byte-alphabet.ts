/**
 * The characters that stand for bytes in byte-level vocabularies (GPT-2's): printable ones of Latin-1 for themselves, the
 * rest from U+0100 on.
 */
const BYTE_OF = new Map<string, number>();
let next = 0x100;
for (let byte = 0; byte < 256; byte++) {
  const printable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad);
  BYTE_OF.set(String.fromCharCode(printable ? byte : next++), byte);
}

/** Bytes of a token written in that alphabet; undefined when it is not. */
export function byteLevelBytes(token: string): Uint8Array | undefined {
  const bytes = new Uint8Array(token.length);
  for (let i = 0; i < token.length; i++) {
    const byte = BYTE_OF.get(token.charAt(i));
    if (byte === undefined) return undefined;
    bytes[i] = byte;
  }
  return bytes;
}

/** The byte behind a token like `<0x0A>`; undefined when it is no such token. */
export function byteTokenByte(token: string): number | undefined {
  return /^<0x[0-9A-F]{2}>$/.test(token) ? Number.parseInt(token.slice(3, 5), 16) : undefined;
}
