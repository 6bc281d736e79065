import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { TokenLog } from './token-log.js';

function log(...ids: number[]): TokenLog {
  return TokenLog.EMPTY.append(Int32Array.from(ids));
}
function text(tokens: TokenLog): string {
  return Buffer.concat(tokens.jsonChunks()).toString();
}
function range(start: number, count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, index) => start + index);
}

describe('TokenLog', () => {
  it('holds ids and their JSON text', () => {
    const tokens = log(0, 9, 10, 200_012, 2_147_483_647);
    expect(text(tokens)).toBe('0,9,10,200012,2147483647,');
    expect([...tokens.toIds()]).toEqual([0, 9, 10, 200_012, 2_147_483_647]);
    expect([tokens.length, tokens.jsonBytes]).toEqual([5, 25]);
    expect([text(TokenLog.EMPTY), TokenLog.EMPTY.length, TokenLog.EMPTY.jsonBytes]).toEqual(['', 0, 0]);
  });

  it('appends in place behind its own end: parent and child share memory', () => {
    const parent = log(1, 2);
    const child = parent.append(Int32Array.of(3));
    expect([text(parent), text(child)]).toEqual(['1,2,', '1,2,3,']);
    expect(child.jsonChunks()).toHaveLength(1);
    expect(child.jsonChunks()[0]?.buffer).toBe(parent.jsonChunks()[0]?.buffer);
    expect(child.append(new Int32Array(0))).toBe(child);
  });

  it('begins a new chunk for a fork', () => {
    const parent = log(1, 2);
    const [left, right] = [parent.append(Int32Array.of(3)), parent.append(Int32Array.of(4))];
    expect([text(left), text(right)]).toEqual(['1,2,3,', '1,2,4,']);
    expect(right.jsonChunks().map(String)).toEqual(['1,2,', '4,']);
    const shorter = left.prefix(1).append(Int32Array.of(5));
    expect([text(left), text(shorter)]).toEqual(['1,2,3,', '1,5,']);
  });

  it('needs few chunks for a long log, however it grew', () => {
    let tokens = TokenLog.EMPTY;
    for (let index = 0; index < 300_000; index += 100) tokens = tokens.append(range(index, 100));
    expect(tokens.length).toBe(300_000);
    expect(tokens.jsonChunks().length).toBeLessThanOrEqual(13);
    expect(TokenLog.EMPTY.append(range(0, 300_000)).jsonChunks()).toHaveLength(5);
  });

  it('says what it does not share', () => {
    const parent = TokenLog.EMPTY.append(range(100, 1000));
    const child = parent.append(Int32Array.of(7, 77));
    expect(child.bytesBeyond(parent)).toBe(2 * 4 + '7,77,'.length);
    expect(parent.bytesBeyond(child)).toBe(0);
    expect(parent.bytesBeyond(TokenLog.EMPTY)).toBe(4000 + parent.jsonBytes);
    const fork = parent.prefix(999).append(Int32Array.of(5));
    expect(fork.bytesBeyond(child)).toBe(4 + 2);
    expect(log(1).bytesBeyond(parent)).toBe(6);
  });

  it('refuses what is not a token id or not a prefix', () => {
    const tokens = log(1);
    expect(() => tokens.append(Int32Array.of(2, -1))).toThrow(RangeError);
    expect(text(tokens.append(Int32Array.of(3)))).toBe('1,3,');
    expect(() => tokens.prefix(2)).toThrow(RangeError);
    expect(() => tokens.prefix(-1)).toThrow(RangeError);
  });

  it('is what an array would be under any forks, prefixes and appends', () => {
    const id = fc.oneof(fc.nat(9), fc.nat(250_000), fc.nat(2_147_483_647));
    const step = fc.record({
      /** Chooses the log to go on from. */
      from: fc.nat(),
      /** Share of it to keep first. */
      keep: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
      ids: fc.array(id, { maxLength: 12 }),
      /** Repeats the ids, so that chunks fill up. */
      times: fc.constantFrom(1, 1, 40, 90),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const made: { tokens: TokenLog; model: number[] }[] = [{ tokens: TokenLog.EMPTY, model: [] }];
        for (const { from, keep, ids, times } of steps) {
          const base = made[from % made.length];
          if (base === undefined) continue;
          const kept = Math.floor(base.model.length * keep);
          const added = Array.from({ length: times }, () => ids).flat();
          const tokens = base.tokens.prefix(kept).append(Int32Array.from(added));
          made.push({ tokens, model: [...base.model.slice(0, kept), ...added] });
          expect(tokens.sharedLength(base.tokens)).toBe(kept);
        }
        for (const { tokens, model } of made) {
          expect(tokens.length).toBe(model.length);
          expect([...tokens.toIds()]).toEqual(model);
          expect(text(tokens)).toBe(model.map((id) => `${id},`).join(''));
          expect(tokens.jsonBytes).toBe(text(tokens).length);
          const [start, end] = [Math.floor(model.length / 3), Math.floor(model.length / 2)];
          expect([...tokens.slice(start, end)]).toEqual(model.slice(start, end));
        }
      }),
      { numRuns: 100 },
    );
  });
});
