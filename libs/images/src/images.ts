import type { ImageDetail } from '@turnpike/protocol';
import type { LoadedImage } from './image-loader.js';
import { imageTokens, type ImageRule } from './price.js';

/** An image of a conversation, loaded and sized. */
export interface KnownImage extends LoadedImage {
  readonly detail?: ImageDetail | undefined;
}

/** An image behind those before it; linked, so that adding one shares the others. */
export interface ImageLink {
  readonly before: ImageLink | undefined;
  readonly image: KnownImage;
}

/** The images of a chain, in the order of its items: what the images stage knows after a turn. Immutable. */
export interface KnownImages {
  readonly last: ImageLink | undefined;
  readonly count: number;
  /** What all of them cost by `rule`. */
  readonly tokens: number;
  /** Undefined without images. */
  readonly rule: ImageRule | undefined;
}

export const NO_IMAGES: KnownImages = { last: undefined, count: 0, tokens: 0, rule: undefined };

/** These images with `added` behind them, priced by `rule`. O(added), unless the rule is another one. */
export function withImages(images: KnownImages, added: readonly KnownImage[], rule: ImageRule): KnownImages {
  let { last, count, tokens } = pricedBy(images, rule);
  for (const image of added) {
    last = { before: last, image };
    count += 1;
    tokens += imageTokens(rule, image);
  }
  return { last, count, tokens, rule };
}

/** The same images priced by `rule`: another model may have another. */
export function pricedBy(images: KnownImages, rule: ImageRule): KnownImages {
  if (images.count === 0 || sameRule(images.rule, rule)) return images;
  const tokens = imagesOf(images).reduce((sum, image) => sum + imageTokens(rule, image), 0);
  return { ...images, tokens, rule };
}

/** All images in their order. O(images). */
export function imagesOf({ last }: KnownImages): KnownImage[] {
  return imagesSince(last, undefined);
}

/** The images behind a link, in their order. */
export function imagesSince(last: ImageLink | undefined, before: ImageLink | undefined): KnownImage[] {
  const images: KnownImage[] = [];
  for (let link = last; link !== undefined && link !== before; link = link.before) images.push(link.image);
  return images.reverse();
}

/** Whether a link is behind another, or the same. O(links between them). */
export function follows(last: ImageLink | undefined, before: ImageLink | undefined): boolean {
  let link = last;
  while (link !== before && link !== undefined) link = link.before;
  return link === before;
}

/**
 * Memory that `images` takes beyond what its parent's artifact and the items already hold, in bytes: what was fetched.
 * An image that came in a data: URL is that string of its item.
 */
export function imageBytes(images: KnownImages, parent: KnownImages | undefined): number {
  return imagesSince(images.last, parent?.last).reduce(
    (bytes, { fetched, url }) => bytes + (fetched ? url.length * BYTES_PER_CHARACTER : 0),
    0,
  );
}

/** As strings of items are charged. */
const BYTES_PER_CHARACTER = 2;

function sameRule(a: ImageRule | undefined, b: ImageRule): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
