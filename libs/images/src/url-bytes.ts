import type { LoadedImage } from './image-loader.js';

const known = new WeakMap<LoadedImage, Buffer>();

/**
 * The URL of an image as it stands in the body of a request, where there is nothing to escape in it: made once for all requests
 * of a conversation. With the string it takes two bytes a character, which is what `imageBytes` counts.
 */
export function urlBytes(image: LoadedImage): Buffer {
  const found = known.get(image);
  if (found !== undefined) return found;
  const bytes = Buffer.from(image.url, 'latin1');
  known.set(image, bytes);
  return bytes;
}
