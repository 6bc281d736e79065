import { ApiError } from '@turnpike/protocol';
import {
  lastStart,
  shownItems,
  stageToken,
  type StageToken,
  type Turn,
  type TurnStage,
} from '@turnpike/turns';
import type { ImageLoader } from './image-loader.js';
import { imagePartsBehind, imagePartsOf, sourceOf, type PlacedImage } from './image-parts.js';
import { imagesCodec } from './images-codec.js';
import { NO_IMAGES, pricedBy, withImages, type KnownImages } from './images.js';
import type { ImageRule } from './price.js';

export const Images = stageToken<KnownImages>('images');

export interface ImagesStageOptions {
  /** The stage that says what an image costs the model of this turn; undefined for a model that takes none. */
  readonly routeToken: StageToken<{ readonly model: string; readonly images?: ImageRule | undefined }>;
  readonly loader: ImageLoader;
}

/**
 * Keeps the images of a chain. An image is loaded, sized and priced once, in the turn that brings it; later turns, forks
 * and continuations from the store take over what is known.
 */
export class ImagesStage implements TurnStage<KnownImages> {
  readonly token = Images;
  readonly codec = imagesCodec;
  readonly needs: readonly StageToken<unknown>[];
  readonly #options: ImagesStageOptions;

  constructor(options: ImagesStageOptions) {
    this.#options = options;
    this.needs = [options.routeToken];
  }

  advance(previous: KnownImages | undefined, turn: Turn): KnownImages | Promise<KnownImages> {
    // What stands for a part of a conversation has no images.
    const images = lastStart(turn.items) === -1 ? (previous ?? NO_IMAGES) : NO_IMAGES;
    if (turn.phase === 'output') {
      // Nothing new, and yet another model may have taken over.
      const { images: rule } = turn.artifact(this.#options.routeToken);
      return rule === undefined ? images : pricedBy(images, rule);
    }
    const placed = previous === undefined ? [...earlierImages(turn), ...newImages(turn)] : newImages(turn);
    const rule = this.#requireRule(turn, images, placed);
    if (rule === undefined) return images;
    if (placed.length === 0) return pricedBy(images, rule);
    const sources = placed.map(sourceOf);
    const loaded = this.#options.loader.load(sources, turn.signal);
    const add = (added: Awaited<typeof loaded>): KnownImages => {
      turn.count('images_loaded', added.length);
      const known = added.map((image, index) => ({ ...image, detail: placed[index]?.part.detail }));
      return withImages(images, known, rule);
    };
    return loaded instanceof Promise ? loaded.then(add) : add(loaded);
  }

  /** What an image costs; undefined when there is none to pay for. */
  #requireRule(turn: Turn, images: KnownImages, placed: readonly PlacedImage[]): ImageRule | undefined {
    if (images.count === 0 && placed.length === 0) return undefined;
    const { model, images: rule } = turn.artifact(this.#options.routeToken);
    if (rule !== undefined) return rule;
    const [first] = placed;
    throw images.count === 0 && first !== undefined
      ? new ApiError('unsupported_parameter', {
          param: first.path,
          message: "The model does not take 'input_image' parts.",
        })
      : new ApiError('unsupported_parameter', {
          param: 'model',
          message: `The model '${model}' does not take images, and this conversation has some.`,
        });
  }
}

function newImages({ items, known }: Turn): PlacedImage[] {
  const start = lastStart(items) + 1;
  return items.slice(start).flatMap(({ item }, index) => {
    const at = known + start + index;
    // What comes before the input was added to the conversation without a turn.
    return at < 0 ? imagePartsBehind(item, 'conversation') : imagePartsOf(item, `input[${at}]`);
  });
}

/** What a parent has that was made without this stage. */
function earlierImages(turn: Turn): PlacedImage[] {
  if (lastStart(turn.items) !== -1) return [];
  const field = turn.request.conversation === undefined ? 'previous_response_id' : 'conversation';
  return shownItems(turn.history()).entries.flatMap(({ item }) => imagePartsBehind(item, field));
}
