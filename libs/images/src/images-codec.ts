import { shownItems, type ArtifactCodec } from '@turnpike/turns';
import type { ImageSource, LoadedImage } from './image-loader.js';
import { imagePartsOf } from './image-parts.js';
import { follows, imagesSince, NO_IMAGES, withImages, type KnownImages, type KnownImage } from './images.js';
import type { ImageRule } from './price.js';

/** The images that a turn added. */
interface ImagesState {
  /** Set when those before are gone. */
  readonly anew?: true | undefined;
  readonly rule?: ImageRule | undefined;
  readonly added?: readonly ImageRecord[] | undefined;
}

/** An image without what its item holds: `url` is kept of those that were fetched. */
interface ImageRecord extends Pick<LoadedImage, 'width' | 'height'> {
  readonly url?: ImageSource['url'] | undefined;
}

const NO_IDS = new Int32Array(0);

/** How a store keeps {@link KnownImages}: nothing is fetched or sized again, and what an item holds is not kept twice. */
export const imagesCodec: ArtifactCodec<KnownImages> = {
  version: 1,
  empty: NO_IMAGES,

  encode({ last, rule }, previous) {
    const added = imagesSince(last, previous?.last).map(({ url, fetched, width, height }): ImageRecord => {
      return fetched ? { width, height, url } : { width, height };
    });
    const anew = follows(last, previous?.last) ? undefined : true;
    const state: ImagesState = { anew, rule, added: added.length === 0 ? undefined : added };
    return { state, ids: NO_IDS };
  },

  decode(records, history) {
    const states = records.map(({ state }) => state as ImagesState);
    const from = Math.max(
      0,
      states.findLastIndex(({ anew }) => anew === true),
    );
    const added = states.slice(from).flatMap((state) => state.added ?? []);
    const rule = states.at(-1)?.rule;
    if (added.length === 0 || rule === undefined) return NO_IMAGES;
    const parts = shownItems(history()).entries.flatMap(({ item }) => imagePartsOf(item, ''));
    const images = added.map(({ width, height, url }, index): KnownImage => {
      const part = parts[index]?.part;
      const source = url ?? part?.image_url;
      if (source === undefined)
        throw new Error('The records of a conversation have an image that no item has.');
      return { url: source, fetched: url !== undefined, width, height, detail: part?.detail };
    });
    return withImages(NO_IMAGES, images, rule);
  },
};
