import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { imageTokens, type ImageRule, type Priced } from './price.js';

const TILES = { tokens: 'tiles', base: 85, tile: 170, detail: true } as const;
const patches = (maxPatches = 1536, multiplier = 1, patch = 32) =>
  ({ tokens: 'patches', patch, maxPatches, multiplier, detail: true }) as const;

const detail = fc.constantFrom<Priced['detail'][]>('low', 'high', 'original', 'auto', undefined);
const side = fc.oneof(
  fc.integer({ min: 1, max: 70_000 }),
  fc.constantFrom(1, 31, 32, 33, 511, 512, 513, 768, 2048, 2049),
);
const image = fc.record({ width: side, height: side, detail });
const turned = ({ width, height, detail: of }: Priced): Priced => ({
  width: height,
  height: width,
  detail: of,
});

describe('the price of an image', () => {
  // The examples of OpenAI's guide, and sizes whose price its users have measured.
  it.each<[ImageRule, number, number, Priced['detail'], number]>([
    [TILES, 1024, 1024, 'high', 765],
    [TILES, 2048, 4096, 'high', 1105],
    [TILES, 4096, 8192, 'low', 85],
    [TILES, 1920, 1080, undefined, 1105],
    [TILES, 512, 512, 'auto', 255],
    [TILES, 513, 512, 'auto', 425],
    [TILES, 128, 64, 'high', 255],
    [TILES, 2049, 513, 'high', 1445],
    [TILES, 2050, 513, 'high', 765],
    [{ ...TILES, base: 70, tile: 140 }, 1024, 1024, 'high', 630],
    [patches(), 1024, 1024, 'high', 1024],
    [patches(), 1800, 2400, undefined, 1452],
    [patches(1536, 1.62), 1024, 1024, 'high', 1659],
    [patches(1536, 1.2), 2048, 768, 'high', 1844],
    [patches(2500, 1.2), 1024, 1024, 'high', 1229],
    [patches(2500, 1.2), 2048, 2048, 'high', 3000],
    [patches(2500, 1.2), 1920, 1080, 'high', 2448],
    [patches(), 4000, 4000, 'low', 256],
    [patches(10_000), 3200, 3200, 'original', 10_000],
    [patches(10_000), 3200, 3200, 'high', 4096],
    [{ tokens: 'fixed', each: 256 }, 9999, 1, 'low', 256],
    // Where detail means nothing to the engine.
    [{ ...TILES, detail: false }, 1024, 1024, 'low', 765],
    [{ ...patches(), detail: false }, 1024, 1024, 'low', 1024],
    [{ ...patches(), detail: false }, 1800, 2400, 'low', 1452],
    [{ ...patches(16_384, 1, 28), detail: false }, 2800, 2800, 'low', 10_000],
  ])('%j for %d x %d, %s', (rule, width, height, of, tokens) => {
    expect(imageTokens(rule, { width, height, detail: of })).toBe(tokens);
  });

  it('by tiles has a base and at most eight tiles', () => {
    fc.assert(
      fc.property(image, (each) => {
        const tokens = imageTokens(TILES, each);
        const tiles = (tokens - TILES.base) / TILES.tile;
        expect(Number.isInteger(tiles)).toBe(true);
        expect(each.detail === 'low' ? tiles === 0 : tiles >= 1 && tiles <= 8).toBe(true);
        expect(imageTokens(TILES, turned(each))).toBe(tokens);
      }),
      { numRuns: 1000 },
    );
  });

  it('by patches keeps within its budget', () => {
    const rule = fc.record({
      tokens: fc.constant('patches' as const),
      patch: fc.integer({ min: 1, max: 64 }),
      maxPatches: fc.integer({ min: 1, max: 3000 }),
      multiplier: fc.constant(1),
      detail: fc.boolean(),
    });
    fc.assert(
      fc.property(rule, image, (by, each) => {
        const tokens = imageTokens(by, each);
        expect(Number.isInteger(tokens)).toBe(true);
        expect(tokens).toBeGreaterThanOrEqual(1);
        expect(tokens).toBeLessThanOrEqual(by.maxPatches);
        expect(imageTokens(by, turned(each))).toBe(tokens);
      }),
      { numRuns: 1000 },
    );
  });

  it('by patches is their number where they fit', () => {
    const small = fc.integer({ min: 1, max: 512 });
    fc.assert(
      fc.property(small, small, detail, (width, height, of) => {
        const covering = Math.ceil(width / 32) * Math.ceil(height / 32);
        expect(imageTokens(patches(), { width, height, detail: of })).toBe(covering);
      }),
    );
  });
});
