import { describe, expect, it } from '@jest/globals';
import { meteredWords } from './metered-words.js';

const sealer = { saltOf: (tenant: string) => `salt of ${tenant}` };

describe('what a usage record holds of a client’s words', () => {
  it('tells lanes apart without naming them', () => {
    const laneOf = (streamId: string | undefined, tenant = 'a') =>
      meteredWords({ streamId }, tenant, sealer).lane;
    expect(laneOf(undefined)).toBeNull();
    expect(laneOf('my secret')).toMatch(/^[0-9a-f]{12}$/);
    expect(laneOf('my secret')).toBe(laneOf('my secret'));
    expect(new Set([laneOf('x'), laneOf('y'), laneOf('x', 'b')]).size).toBe(3);
  });

  it.each([
    [undefined, 'default'],
    ['flex', 'flex'],
    ['my secret', 'default'],
  ])('has a service tier that is one: %s', (serviceTier, recorded) => {
    expect(meteredWords({ serviceTier }, 'a', sealer).serviceTier).toBe(recorded);
  });
});
