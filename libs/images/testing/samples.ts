import { crc32 } from 'node:zlib';
import type { ImageType } from '../src/index.js';

/** The beginning of a PNG of this size: as much as says so. */
export function png(width: number, height: number): Buffer {
  const header = Buffer.alloc(33);
  header.write('\x89PNG\r\n\x1a\n', 'latin1');
  header.writeUInt32BE(13, 8);
  header.write('IHDR', 12, 'latin1');
  header.writeUInt32BE(width, 16);
  header.writeUInt32BE(height, 20);
  header.set([8, 6, 0, 0, 0], 24);
  header.writeUInt32BE(crc32(header.subarray(12, 29)), 29);
  return header;
}

/** A JPEG up to its frame header, behind these segments (marker and payload). */
export function jpeg(
  width: number,
  height: number,
  segments: readonly (readonly [marker: number, bytes: number])[] = [[0xe0, 14]],
): Buffer {
  const parts = segments.map(([marker, bytes]) => {
    const segment = Buffer.alloc(4 + bytes);
    segment.set([0xff, marker]);
    segment.writeUInt16BE(2 + bytes, 2);
    return segment;
  });
  const frame = Buffer.from([0xff, 0xc0, 0, 17, 8, 0, 0, 0, 0, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1]);
  frame.writeUInt16BE(height, 5);
  frame.writeUInt16BE(width, 7);
  return Buffer.concat([Buffer.from([0xff, 0xd8]), ...parts, frame]);
}

/** A GIF whose screen is `width` by `height`, up to its first image, which stands at `left`, `top`. */
export function gif(
  width: number,
  height: number,
  image: { left: number; top: number; width: number; height: number } = { left: 0, top: 0, width, height },
): Buffer {
  const screen = Buffer.from('GIF89a\0\0\0\0\xf0\0\0\0\0\0\xff\xff\xff', 'latin1');
  screen.writeUInt16LE(width, 6);
  screen.writeUInt16LE(height, 8);
  const comment = Buffer.from('\x21\xfe\x05hello\0', 'latin1');
  const descriptor = Buffer.alloc(10);
  descriptor[0] = 0x2c;
  descriptor.writeUInt16LE(image.left, 1);
  descriptor.writeUInt16LE(image.top, 3);
  descriptor.writeUInt16LE(image.width, 5);
  descriptor.writeUInt16LE(image.height, 7);
  return Buffer.concat([screen, comment, descriptor]);
}

/** A WebP of each of its three kinds; lossless ones up to 16,384 pixels a side, lossy ones up to 16,383. */
export const webp = {
  lossy: (width: number, height: number): Buffer => {
    const frame = Buffer.from([0x10, 0, 0, 0x9d, 0x01, 0x2a, 0, 0, 0, 0]);
    frame.writeUInt16LE(width, 6);
    frame.writeUInt16LE(height, 8);
    return riff('VP8 ', frame);
  },
  lossless: (width: number, height: number): Buffer => {
    const frame = Buffer.alloc(10);
    frame[0] = 0x2f;
    frame.writeUInt32LE((width - 1) | ((height - 1) << 14), 1);
    return riff('VP8L', frame);
  },
  extended: (width: number, height: number): Buffer => {
    const chunk = Buffer.alloc(10);
    chunk.writeUIntLE(width - 1, 4, 3);
    chunk.writeUIntLE(height - 1, 7, 3);
    return riff('VP8X', chunk);
  },
};

function riff(kind: string, payload: Buffer): Buffer {
  const head = Buffer.from(`RIFF\0\0\0\0WEBP${kind}\0\0\0\0`, 'latin1');
  head.writeUInt32LE(12 + payload.length, 4);
  head.writeUInt32LE(payload.length, 16);
  return Buffer.concat([head, payload]);
}

export function dataUrl(bytes: Buffer, type: ImageType | 'jpg' = 'png'): string {
  return `data:image/${type};base64,${bytes.toString('base64')}`;
}
