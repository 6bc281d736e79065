import { describe, expect, it } from '@jest/globals';
import { ID_PREFIX, mintId } from './ids.js';

describe('mintId', () => {
  it.each(Object.entries(ID_PREFIX))('%s ids are %s_ and 48 hexadecimal digits', (kind, prefix) => {
    expect(mintId(kind as keyof typeof ID_PREFIX)).toMatch(new RegExp(`^${prefix}_[0-9a-f]{48}$`));
  });

  it('never repeats an id, across blocks of random bytes and kinds', () => {
    const kinds = Object.keys(ID_PREFIX) as (keyof typeof ID_PREFIX)[];
    const random = Array.from({ length: 1_000 }, () =>
      kinds.map((kind) => mintId(kind).split('_')[1]),
    ).flat();
    expect(new Set(random).size).toBe(random.length);
  });

  it('has a prefix of its own for each kind', () => {
    expect(new Set(Object.values(ID_PREFIX)).size).toBe(Object.keys(ID_PREFIX).length);
  });
});
