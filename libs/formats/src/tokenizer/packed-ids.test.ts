import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { packIds, unpackIds } from './packed-ids.js';

describe('packed ids', () => {
  it('give back the lists they were made of', () => {
    fc.assert(
      fc.property(fc.array(fc.int32Array()), (lists) => {
        expect(unpackIds(packIds(lists)).map((list) => [...list])).toEqual(lists.map((list) => [...list]));
      }),
    );
  });
});
