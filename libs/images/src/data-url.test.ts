import { describe, expect, it } from '@jest/globals';
import { ApiError, type ErrorCode } from '@turnpike/protocol';
import fc from 'fast-check';
import { dataUrl, gif, jpeg, png, webp } from '../testing/samples.js';
import { ByteBudget } from './byte-budget.js';
import { readDataUrl } from './data-url.js';

const read = (url: string, bytes = 1_000_000) =>
  readDataUrl(url, 'input[0].content[0].image_url', new ByteBudget(bytes));

/** The code of what is thrown, which always names the field and never repeats the URL. */
function codeOf(url: string, bytes?: number): ErrorCode | undefined {
  try {
    read(url, bytes);
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown;
    expect(thrown.param).toBe('input[0].content[0].image_url');
    expect(thrown.status).toBe(400);
    return thrown.code;
  }
}

describe('a data: URL', () => {
  it.each([
    ['png', png(640, 480), { type: 'png', width: 640, height: 480 }],
    ['jpeg', jpeg(640, 480), { type: 'jpeg', width: 640, height: 480 }],
    ['jpg', jpeg(640, 480), { type: 'jpeg', width: 640, height: 480 }],
    ['gif', gif(640, 480), { type: 'gif', width: 640, height: 480 }],
    ['webp', webp.lossy(640, 480), { type: 'webp', width: 640, height: 480 }],
  ] as const)('of image/%s is read', (type, bytes, size) => {
    const image = read(dataUrl(bytes, type));
    expect(image.size).toEqual(size);
    expect(image.bytes.equals(bytes)).toBe(true);
  });

  const base64 = png(1, 63).toString('base64');
  it.each<[string, string, ErrorCode]>([
    ['no data: URL', 'nonsense', 'invalid_image_url'],
    ['nothing', '', 'invalid_image_url'],
    ['a file', 'file:///etc/passwd', 'invalid_image_url'],
    ['another scheme', 'ftp://example.com/a.png', 'invalid_image_url'],
    ['a script', 'javascript:alert(1),', 'invalid_image_url'],
    ['a data: URL without type', `data:;base64,${base64}`, 'invalid_image_url'],
    ['a data: URL without comma', 'data:image/png;base64', 'invalid_image_url'],
    ['parameters', `data:image/png;charset=utf-8;base64,${base64}`, 'invalid_image_url'],
    ['a header without end', `data:${'a'.repeat(100_000)},${base64}`, 'invalid_image_url'],
    ['text', `data:text/plain;base64,${base64}`, 'invalid_image_format'],
    ['SVG', `data:image/svg+xml;base64,${base64}`, 'invalid_image_format'],
    ['a type of Object', `data:image/constructor;base64,${base64}`, 'invalid_image_format'],
    ['another type than its own', `data:image/jpeg;base64,${base64}`, 'invalid_image_format'],
    ['bytes that are no image', dataUrl(Buffer.from('hello')), 'invalid_image_format'],
    ['no bytes', 'data:image/png;base64,', 'invalid_image_format'],
    ['no base64', 'data:image/png,%89PNG', 'invalid_base64_image'],
    [
      'a line break',
      `data:image/png;base64,${base64.slice(0, 8)}\n${base64.slice(8)}`,
      'invalid_base64_image',
    ],
    ['a blank at the end', `data:image/png;base64,${base64} `, 'invalid_base64_image'],
    ['the alphabet of URLs', `data:image/png;base64,${base64.replace('/', '_')}`, 'invalid_base64_image'],
    [
      'no padding',
      dataUrl(Buffer.concat([png(1, 1), Buffer.alloc(1)])).replace(/=+$/, ''),
      'invalid_base64_image',
    ],
    [
      'something behind the padding',
      `${dataUrl(Buffer.concat([png(1, 1), Buffer.alloc(1)]))}AAAA`,
      'invalid_base64_image',
    ],
    ['a quotation mark', `data:image/png;base64,${base64}"}]`, 'invalid_base64_image'],
    ['too many pixels', dataUrl(png(100_000, 100_000)), 'image_too_large'],
    ['a strip of too many pixels', dataUrl(png(1, 2 ** 31 - 1)), 'image_too_large'],
  ])('with %s is refused', (_name, url, code) => {
    expect(codeOf(url)).toBe(code);
  });

  it('is refused beyond the bytes that are left, before it is decoded', () => {
    const url = dataUrl(Buffer.concat([png(1, 1), Buffer.alloc(300)]));
    expect(codeOf(url, 333)).toBeUndefined();
    expect(codeOf(url, 332)).toBe('image_file_too_large');
  });

  it('is right only as base64 is written', () => {
    const characters = fc.constantFrom(...'ABCabc019+/=-_ \n"'.split(''));
    fc.assert(
      fc.property(fc.string({ unit: characters, maxLength: 40 }), (rest) => {
        const url = `data:image/png;base64,${base64}${rest}`;
        const isStrict =
          /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/.test(rest);
        expect(codeOf(url)).toBe(isStrict ? undefined : 'invalid_base64_image');
      }),
      { numRuns: 500 },
    );
  });
});
