import { ApiError } from '@turnpike/protocol';
import type { ByteBudget } from './byte-budget.js';
import { readImageSize, type ImageSize, type ImageType } from './image-size.js';

/** Media types of images, as they are declared. `image/jpg` is in no registry and in many clients. */
const MEDIA_TYPES: Readonly<Record<string, ImageType>> = {
  'image/png': 'png',
  'image/jpeg': 'jpeg',
  'image/jpg': 'jpeg',
  'image/gif': 'gif',
  'image/webp': 'webp',
};

/**
 * Most pixels of an image. The engine has to hold all of them at once, and a header of 33 bytes can promise any number.
 * Source: Pillow's limit against decompression bombs, which engines decode with.
 */
const MAX_PIXELS = 89_478_485;

/** Header of a data: URL: everything before its comma. */
const HEADER = /^data:([a-z]+\/[a-z0-9.+-]+)(;base64)?$/;
/** Longest header that can be one, in characters. */
const MAX_HEADER = 64;

/** What is in a data: URL, and the size of the image it is. */
export interface DataImage {
  readonly bytes: Buffer;
  readonly size: ImageSize;
}

/**
 * Reads a data: URL strictly: base64 as RFC 4648 writes it, and an image of the type that is declared.
 * @throws ApiError invalid_image_url | invalid_base64_image | invalid_image_format | image_too_large |
 *   image_file_too_large, on `param`
 */
export function readDataUrl(url: string, param: string, budget: ByteBudget): DataImage {
  const comma = url.indexOf(',');
  const header = HEADER.exec(url.slice(0, Math.min(comma, MAX_HEADER)));
  if (comma === -1 || header === null) throw new ApiError('invalid_image_url', { param });
  const type = mediaType(header[1] ?? '');
  if (type === undefined) throw new ApiError('invalid_image_format', { param });
  if (header[2] === undefined) throw new ApiError('invalid_base64_image', { param });
  if (!budget.take(Math.floor(((url.length - comma - 1) / 4) * 3))) {
    throw new ApiError('image_file_too_large', { param });
  }
  const base64 = url.slice(comma + 1);
  const bytes = Buffer.from(base64, 'base64');
  // Node decodes whatever it is given; what it would write is the one strict form of it.
  if (bytes.toString('base64') !== base64) throw new ApiError('invalid_base64_image', { param });
  return { bytes, size: requireImage(bytes, type, param) };
}

/** The type that a media type declares; undefined when it is none that this server takes. */
export function mediaType(declared: string): ImageType | undefined {
  return Object.hasOwn(MEDIA_TYPES, declared) ? MEDIA_TYPES[declared] : undefined;
}

/**
 * The size of an image of this type.
 * @throws ApiError invalid_image_format | image_too_large, on `param`
 */
export function requireImage(bytes: Buffer, type: ImageType, param: string): ImageSize {
  const size = readImageSize(bytes);
  if (size?.type !== type) throw new ApiError('invalid_image_format', { param });
  if (size.width * size.height > MAX_PIXELS) throw new ApiError('image_too_large', { param });
  return size;
}
