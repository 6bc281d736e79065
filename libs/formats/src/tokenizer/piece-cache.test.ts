import { describe, expect, it } from '@jest/globals';
import { PieceCache } from './piece-cache.js';

const ids = (id: number): Int32Array => Int32Array.of(id);

describe('PieceCache', () => {
  it('drops what was not used for two generations, and keeps what was', () => {
    const cache = new PieceCache(2);
    cache.set('used', ids(1));
    cache.set('idle', ids(2));
    for (let i = 0; i < 10; i++) {
      cache.set(`new ${i}`, ids(3));
      expect(cache.get('used')).toEqual(ids(1));
    }
    expect(cache.get('idle')).toBeUndefined();
    expect(cache.get('new 0')).toBeUndefined();
  });

  it('finds long pieces, and pieces with lone surrogates, by their text', () => {
    const cache = new PieceCache(8);
    const long = 'a piece of more than thirteen units \ud800';
    cache.set(long, ids(4));
    expect(cache.get(`${long}`)).toEqual(ids(4));
  });
});
