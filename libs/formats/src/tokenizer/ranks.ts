import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { TokenTable } from './token-table.js';

/** Ranks of one vocabulary as the npm package `tiktoken` ships them. */
interface RankFile {
  /** Lines of `! FIRST_RANK BASE64 BASE64 ...`. */
  bpe_ranks: string;
  /** The regular expression that cuts text into pieces, in Rust's dialect. */
  pat_str: string;
  /** Ids of the control tokens by literal. */
  special_tokens: Record<string, number>;
}

/**
 * Reads a rank file of npm `tiktoken`: its data only, never its encoder.
 * @throws Error when the package or the file is missing.
 */
export function readRankFile(name: 'o200k_base' | 'cl100k_base'): RankFile {
  const path = createRequire(import.meta.url).resolve(`tiktoken/encoders/${name}.json`);
  return JSON.parse(readFileSync(path, 'latin1')) as RankFile;
}

/**
 * Builds the token table from the text of `bpe_ranks`.
 * @throws Error when ranks are not consecutive from 0, which the table relies on.
 */
export function parseRanks(text: string): TokenTable {
  const data = new Uint8Array(text.length); // base64 is always longer than what it encodes
  const ends: number[] = [];
  let used = 0;
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const header = /^! (\d+) /.exec(line);
    if (header === null || Number(header[1]) !== ends.length)
      throw new Error('Token ranks are not consecutive');
    let bits = 0;
    let held = 0;
    for (let i = header[0].length; i <= line.length; i++) {
      const code = i < line.length ? line.charCodeAt(i) : SPACE;
      if (code === SPACE) {
        ends.push(used);
        bits = held = 0;
        continue;
      }
      const value = BASE64[code] as number;
      if (value === PADDING) continue;
      bits = ((bits << 6) | value) & 0xffff;
      held += 6;
      if (held >= 8) {
        held -= 8;
        data[used++] = (bits >> held) & 0xff;
      }
    }
  }
  return new TokenTable(data.slice(0, used), Uint32Array.from(ends));
}

const SPACE = 0x20;
const PADDING = 0xff;
const BASE64 = new Uint8Array(128).fill(PADDING);
for (const [value, char] of [
  ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
].entries()) {
  BASE64[char.charCodeAt(0)] = value;
}
