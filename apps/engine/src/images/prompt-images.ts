import { createHash } from 'node:crypto';
import { HARMONY } from '@turnpike/formats';
import { ByteBudget, imageTokens, readDataUrl, type ImageSize } from '@turnpike/images';
import { ApiError } from '@turnpike/protocol';
import { type ImageUrl } from '../http/completion-request.js';
import { RequestError } from '../http/errors.js';

/** An image of a prompt. */
export interface PromptImage {
  readonly size: ImageSize;
  /** Offset of its placeholder among the ids. */
  readonly at: number;
  /** Tokens in the place of the placeholder. */
  readonly tokens: number;
  /** Equal for equal images. */
  readonly digest: string;
}

/** What an image takes in the prompt. */
const RULE = { tokens: 'tiles', base: 85, tile: 170, detail: true } as const;

/**
 * The images of a prompt: one for each placeholder among its ids, in the same order.
 * @param shared how many ids the prompt shares with a kept one, whose images are `known`
 * @param tail the ids behind those
 * @throws RequestError 400 when there are more or fewer, or one is not an image
 */
export function promptImages(
  images: readonly ImageUrl[],
  { shared, known, tail }: { shared: number; known: readonly PromptImage[]; tail: Int32Array },
): PromptImage[] {
  const places = known.flatMap(({ at }) => (at < shared ? [at] : []));
  for (let at = tail.indexOf(HARMONY.image); at >= 0; at = tail.indexOf(HARMONY.image, at + 1)) {
    places.push(shared + at);
  }
  if (places.length !== images.length) {
    const message = `prompt holds ${places.length} image placeholders, content_parts ${images.length} images`;
    throw new RequestError(400, message, 'content_parts');
  }
  return images.map(({ url, detail = 'auto' }, index) => {
    const size = sizeOf(url, `content_parts.${index}.url`);
    const digest = createHash('sha256').update(`${detail} ${url}`).digest('base64');
    return { size, at: places[index] ?? 0, tokens: imageTokens(RULE, { ...size, detail }), digest };
  });
}

function sizeOf(url: string, param: string): ImageSize {
  try {
    return readDataUrl(url, param, new ByteBudget(Infinity)).size;
  } catch (thrown) {
    if (thrown instanceof ApiError) throw new RequestError(400, thrown.message, param);
    throw thrown;
  }
}

/** Tokens of the first `length` ids, images in the place of their placeholders. */
export function tokensOf(length: number, images: readonly PromptImage[]): number {
  return images.reduce((sum, { at, tokens }) => sum + (at < length ? tokens - 1 : 0), length);
}

/** How many of the first `length` ids, which two prompts share, mean the same in both: up to an image that differs. */
export function sharedLength(
  length: number,
  images: readonly PromptImage[],
  known: readonly PromptImage[],
): number {
  const other = images.find(({ at, digest }, index) => at < length && known[index]?.digest !== digest);
  return other?.at ?? length;
}
