import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { gif, jpeg, png, webp } from '../testing/samples.js';
import { readImageSize, type ImageType } from './image-size.js';

type Build = (width: number, height: number) => Buffer;

const BUILDERS: readonly (readonly [string, ImageType, Build, most: number])[] = [
  ['PNG', 'png', png, 2 ** 31 - 1],
  ['JPEG', 'jpeg', (width, height) => jpeg(width, height), 65_535],
  [
    'JPEG with metadata',
    'jpeg',
    (w, h) =>
      jpeg(w, h, [
        [0xe1, 65_533],
        [0xe2, 65_533],
        [0xdb, 65],
        [0xc4, 29],
      ]),
    65_535,
  ],
  ['GIF', 'gif', (width, height) => gif(width, height), 65_535],
  ['WebP, lossy', 'webp', webp.lossy, 16_383],
  ['WebP, lossless', 'webp', webp.lossless, 16_384],
  ['WebP, extended', 'webp', webp.extended, 2 ** 24],
];

/** Whole files of one pixel, as encoders write them. */
const FILES: readonly (readonly [ImageType, string])[] = [
  ['png', 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='],
  ['gif', 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'],
  ['webp', 'UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA'],
];

describe('the size of an image', () => {
  it.each(FILES)('of a whole %s', (type, base64) => {
    expect(readImageSize(Buffer.from(base64, 'base64'))).toEqual({ type, width: 1, height: 1 });
  });

  it.each(BUILDERS)('of any %s', (_name, type, build, most) => {
    const side = fc.integer({ min: 1, max: most });
    fc.assert(
      fc.property(side, side, fc.uint8Array({ maxLength: 20 }), (width, height, rest) => {
        expect(readImageSize(Buffer.concat([build(width, height), rest]))).toEqual({ type, width, height });
      }),
    );
  });

  it.each(BUILDERS)('is not known of a %s that is cut off', (_name, type, build) => {
    const whole = build(640, 480);
    fc.assert(
      fc.property(fc.nat(whole.length), (length) => {
        const size = readImageSize(whole.subarray(0, length));
        if (size !== undefined) expect(size).toEqual({ type, width: 640, height: 480 });
      }),
      { numRuns: 300 },
    );
    expect(readImageSize(whole.subarray(0, 20))).toBeUndefined();
  });

  it.each(BUILDERS)('is taken from a damaged %s without harm', (_name, _type, build) => {
    const whole = build(640, 480);
    const damage = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(damage, (changes) => {
        const bytes = Buffer.from(whole);
        for (const [at, value] of changes) bytes[at] = value;
        const size = readImageSize(bytes);
        expect(size === undefined || (size.width >= 1 && size.height >= 1)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it('is not known of other bytes', () => {
    const magic = fc.constantFrom(
      '',
      '\x89PNG\r\n\x1a\n',
      '\xff\xd8\xff',
      'GIF89a',
      'RIFF\x10\0\0\0WEBPVP8X',
      'BM',
      '<svg ',
    );
    fc.assert(
      fc.property(magic, fc.uint8Array({ maxLength: 200 }), (start, rest) => {
        const size = readImageSize(Buffer.concat([Buffer.from(start, 'latin1'), rest]));
        expect(size === undefined || (size.width >= 1 && size.height >= 1)).toBe(true);
      }),
      { numRuns: 1000 },
    );
    for (const text of ['', 'BM', '<svg width="1" height="1"/>', '%PDF-1.7', 'GIF88a'.padEnd(40)]) {
      expect(readImageSize(Buffer.from(text))).toBeUndefined();
    }
  });

  it.each<[string, Buffer]>([
    ['no pixels across', png(0, 10)],
    ['no pixels down', jpeg(10, 0)],
    ['an empty first image', gif(10, 10, { left: 0, top: 0, width: 0, height: 10 })],
    ['a wrong checksum', Buffer.concat([png(1, 1).subarray(0, 29), Buffer.alloc(4)])],
    ['another chunk first', Buffer.from(png(1, 1).toString('latin1').replace('IHDR', 'CgBI'), 'latin1')],
    ['a scan before the frame', jpeg(1, 1, [[0xda, 8]])],
    ['a segment without length', Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 1]), jpeg(1, 1)])],
    [
      'metadata without end',
      jpeg(
        1,
        1,
        Array.from({ length: 70 }, () => [0xe1, 65_533] as const),
      ),
    ],
    [
      'nothing but fill bytes',
      Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(8 * 1024 * 1024, 0xff)]),
    ],
    ['a longer file than there is', webp.lossy(1, 1).fill(0xff, 4, 5)],
    ['no key frame', webp.lossy(1, 1).fill(0x11, 20, 21)],
  ])('is not known with %s', (_name, bytes) => {
    expect(readImageSize(bytes)).toBeUndefined();
  });

  it('is what decoders draw of a GIF that reaches beyond its screen', () => {
    expect(readImageSize(gif(1, 1, { left: 10, top: 20, width: 300, height: 200 }))).toEqual({
      type: 'gif',
      width: 310,
      height: 220,
    });
  });

  it('is that of the type the bytes begin with, whatever follows', () => {
    const polyglot = Buffer.concat([
      gif(3, 4),
      png(640, 480),
      Buffer.from('<script>alert(1)</script>PK\x03\x04'),
    ]);
    expect(readImageSize(polyglot)).toEqual({ type: 'gif', width: 3, height: 4 });
  });
});
