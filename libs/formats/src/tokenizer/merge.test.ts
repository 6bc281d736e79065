import { describe, expect, it } from '@jest/globals';
import { IdBuffer } from './id-buffer.js';
import { RankJoins } from './joins.js';
import { Merger } from './merge.js';
import { parseRanks, readRankFile } from './ranks.js';
import { TokenTable } from './token-table.js';

class CountingTable extends TokenTable {
  finds = 0;
  override find(bytes: Uint8Array, start: number, end: number): number {
    this.finds++;
    return super.find(bytes, start, end);
  }
}

function countingTable(): CountingTable {
  const table = parseRanks(readRankFile('o200k_base').bpe_ranks);
  const tokens = Array.from({ length: table.size }, (_, id) => table.bytes(id));
  let end = 0;
  return new CountingTable(
    Buffer.concat(tokens),
    Uint32Array.from(tokens, (token) => (end += token.length)),
  );
}

describe('Merger', () => {
  const table = countingTable();
  const merger = new Merger({ table, joins: new RankJoins(table) });

  it.each([
    ['one letter', Buffer.alloc(50_000, 'a')],
    ['spaces', Buffer.alloc(50_000, ' ')],
    ['line breaks', Buffer.alloc(50_000, '\n')],
    ['carets', Buffer.alloc(50_000, '^')],
    ['NUL', Buffer.alloc(50_000)],
    ['an emoji', Buffer.from('😀'.repeat(12_500))],
    ['Hangul', Buffer.from('가'.repeat(16_000))],
    ['combining marks', Buffer.from('e\u0301'.repeat(16_000))],
  ])('looks each byte up a bounded number of times: %s', (_, bytes) => {
    const out = new IdBuffer(16);
    table.finds = 0;
    merger.merge(bytes, bytes.length, out);
    expect(out.length).toBeGreaterThan(0);
    // Two for each byte at the start, two for each of at most n merges.
    expect(table.finds).toBeLessThanOrEqual(4 * bytes.length);
  });

  it('finds every token by its bytes, and no run that is none', () => {
    for (let id = 0; id < table.size; id += 31) {
      const bytes = table.bytes(id);
      expect(table.find(bytes, 0, bytes.length)).toBe(id);
    }
    expect(table.find(Buffer.alloc(4096, 'q'), 0, 4096)).toBe(-1);
    expect(table.find(Buffer.from('zqxj'), 0, 4)).toBe(-1);
  });
});

describe('parseRanks', () => {
  it('refuses ranks that do not count up from 0', () => {
    expect(() => parseRanks('! 5 IQ== Ig==')).toThrow('not consecutive');
    expect(parseRanks('! 0 IQ==\n! 1 YWI= YWJj').bytes(2)).toEqual(new Uint8Array([97, 98, 99]));
  });
});
