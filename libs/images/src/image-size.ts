import { crc32 } from 'node:zlib';

export type ImageType = 'png' | 'jpeg' | 'gif' | 'webp';

/** What the header of an image says. */
export interface ImageSize {
  readonly type: ImageType;
  /** Pixels, at least 1. */
  readonly width: number;
  readonly height: number;
}

/** Width and height; undefined when the bytes do not say. */
type Dimensions = readonly [width: number, height: number] | undefined;

/**
 * How far a header is followed, in bytes. Metadata (EXIF, colour profiles) stands in front of the size of a JPEG; real
 * files have less of it, and what is longer could only mean to keep the reader busy.
 */
const MAX_HEADER_BYTES = 4 * 1024 * 1024;

/**
 * Type and size of an image by its first bytes; nothing is decoded. Undefined for anything else: another type, a header
 * that is cut off or contradicts itself, an image without pixels. The name or declared type of the image plays no part.
 */
export function readImageSize(bytes: Buffer): ImageSize | undefined {
  const header = bytes.subarray(0, MAX_HEADER_BYTES);
  for (const [type, isType, read] of READERS) {
    if (!isType(header)) continue;
    const [width, height] = read(header, bytes.length) ?? [0, 0];
    return width < 1 || height < 1 ? undefined : { type, width, height };
  }
  return undefined;
}

const READERS: readonly (readonly [
  ImageType,
  isType: (header: Buffer) => boolean,
  read: (header: Buffer, length: number) => Dimensions,
])[] = [
  ['png', (header) => startsWith(header, '\x89PNG\r\n\x1a\n'), pngSize],
  ['jpeg', (header) => startsWith(header, '\xff\xd8\xff'), jpegSize],
  ['gif', (header) => startsWith(header, 'GIF87a') || startsWith(header, 'GIF89a'), gifSize],
  ['webp', (header) => startsWith(header, 'RIFF') && startsWith(header, 'WEBP', 8), webpSize],
];

function startsWith(header: Buffer, text: string, at = 0): boolean {
  return header.toString('latin1', at, at + text.length) === text;
}

/** Source: PNG specification, 11.2.1 IHDR: the first chunk, 13 bytes, then its checksum. */
function pngSize(header: Buffer): Dimensions {
  if (header.length < 33 || header.readUInt32BE(8) !== 13 || !startsWith(header, 'IHDR', 12))
    return undefined;
  if (crc32(header.subarray(12, 29)) !== header.readUInt32BE(29)) return undefined;
  return [header.readUInt32BE(16), header.readUInt32BE(20)];
}

/** Markers of a JPEG (ITU-T T.81, table B.1). */
const JPEG = { tem: 0x01, rst0: 0xd0, rst7: 0xd7, soi: 0xd8, eoi: 0xd9, sos: 0xda, fill: 0xff };
/** Between the frame markers C0 to CF, and yet none: Huffman tables, an extension, arithmetic conditioning. */
const NO_FRAMES: readonly number[] = [0xc4, 0xc8, 0xcc];

/** Follows the segments to the frame header, which stands before the first scan. */
function jpegSize(header: Buffer): Dimensions {
  let at = 2;
  while (at + 4 <= header.length) {
    if (header[at] !== 0xff) return undefined;
    const marker = header.readUInt8(at + 1);
    if (marker === JPEG.fill) {
      at += 1;
    } else if (marker === JPEG.tem || (marker >= JPEG.rst0 && marker <= JPEG.rst7)) {
      at += 2;
    } else if (marker === 0 || (marker >= JPEG.soi && marker <= JPEG.sos)) {
      return undefined;
    } else if (marker >= 0xc0 && marker <= 0xcf && !NO_FRAMES.includes(marker)) {
      return at + 9 > header.length ? undefined : [header.readUInt16BE(at + 7), header.readUInt16BE(at + 5)];
    } else {
      const length = header.readUInt16BE(at + 2);
      if (length < 2) return undefined;
      at += 2 + length;
    }
  }
  return undefined;
}

const GIF = { extension: 0x21, image: 0x2c };

/**
 * The screen, or as much as the first image reaches beyond it: decoders draw that too. Source: GIF89a specification,
 * sections 18, 20 and 23 to 26.
 */
function gifSize(header: Buffer): Dimensions {
  if (header.length < 13) return undefined;
  const flags = header.readUInt8(10);
  let at = 13 + (flags & 0x80 ? 3 * 2 ** ((flags & 7) + 1) : 0);
  while (header[at] === GIF.extension) {
    at += 2;
    // Sub-blocks, each behind its length; an empty one is the last.
    while (at < header.length && header[at] !== 0) at += 1 + header.readUInt8(at);
    at += 1;
  }
  if (header[at] !== GIF.image || at + 9 > header.length) return undefined;
  const width = header.readUInt16LE(at + 1) + header.readUInt16LE(at + 5);
  const height = header.readUInt16LE(at + 3) + header.readUInt16LE(at + 7);
  if (header.readUInt16LE(at + 5) === 0 || header.readUInt16LE(at + 7) === 0) return undefined;
  return [Math.max(width, header.readUInt16LE(6)), Math.max(height, header.readUInt16LE(8))];
}

/** Source: WebP container specification, and RFC 6386 section 9.1 for the frame header of VP8. */
function webpSize(header: Buffer, length: number): Dimensions {
  if (header.length < 30 || header.readUInt32LE(4) + 8 > length) return undefined;
  switch (header.toString('latin1', 12, 16)) {
    case 'VP8 ': {
      const isKeyFrame = (header.readUInt8(20) & 1) === 0;
      if (!isKeyFrame || !startsWith(header, '\x9d\x01\x2a', 23)) return undefined;
      return [header.readUInt16LE(26) & 0x3fff, header.readUInt16LE(28) & 0x3fff];
    }
    case 'VP8L': {
      const bits = header.readUInt32LE(21);
      if (header[20] !== 0x2f || bits >>> 29 !== 0) return undefined;
      return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
    }
    case 'VP8X':
      if (header.readUInt32LE(16) !== 10) return undefined;
      return [header.readUIntLE(24, 3) + 1, header.readUIntLE(27, 3) + 1];
    default:
      return undefined;
  }
}
