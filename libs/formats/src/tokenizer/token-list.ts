import { byteLevelBytes, byteTokenByte } from './byte-alphabet.js';
import { TokenTable } from './token-table.js';

/** How the tokens of a vocabulary file are written. */
export type TokenWriting =
  /** Each character is a byte, in GPT-2's alphabet. */
  | 'byteLevel'
  /** As text with U+2581 for a space, and `<0x0A>` for a byte. */
  | 'sentencePiece';

/** The tokens of a file as bytes. */
export interface TokenList {
  readonly table: TokenTable;
  /** Id of each byte, for the second way of writing. */
  readonly byteFallback: Int32Array | undefined;
  /** Whether no token has a space behind something else, so that text can be cut before spaces. */
  readonly spacesLead: boolean;
}

/**
 * @param tokens by id; undefined where an id is not used
 * @param isText whether text may become this token; control tokens must not be
 */
export function tokenList(
  tokens: readonly (string | undefined)[],
  writing: TokenWriting,
  isText: (id: number) => boolean,
): TokenList {
  const chunks: Uint8Array[] = [];
  const ends = new Uint32Array(tokens.length);
  const findable = new Uint8Array(tokens.length);
  const byteFallback = new Int32Array(256).fill(-1);
  const encoder = new TextEncoder();
  let spacesLead = true;
  let end = 0;
  for (const [id, token] of tokens.entries()) {
    let bytes: Uint8Array = new Uint8Array(0);
    if (token !== undefined && writing === 'byteLevel') {
      const known = byteLevelBytes(token);
      bytes = known ?? encoder.encode(token);
      if (known !== undefined && isText(id)) findable[id] = 1;
    } else if (token !== undefined) {
      const byte = byteTokenByte(token);
      if (byte !== undefined) byteFallback[byte] = id;
      const text = token.replaceAll('\u2581', ' ');
      bytes = byte === undefined ? encoder.encode(text) : Uint8Array.of(byte);
      // A space is always written U+2581, so a token with a bare one is none that text becomes.
      if (byte === undefined && !token.includes(' ') && isText(id)) {
        findable[id] = 1;
        spacesLead &&= !/[^ ] /s.test(text);
      }
    }
    chunks.push(bytes);
    ends[id] = end += bytes.length;
  }
  return {
    table: new TokenTable(Buffer.concat(chunks), ends, (id) => findable[id] === 1),
    byteFallback: writing === 'sentencePiece' ? byteFallback : undefined,
    spacesLead,
  };
}
