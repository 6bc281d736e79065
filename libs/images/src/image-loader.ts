import { ApiError } from '@turnpike/protocol';
import { ByteBudget } from './byte-budget.js';
import { readDataUrl, requireImage } from './data-url.js';
import type { ImageFetcher } from './image-fetcher.js';

/** An image to be loaded. */
export interface ImageSource {
  readonly url: string;
  /** Path of the URL in the request, for errors. */
  readonly param: string;
}

/** An image as it goes to an engine. */
export interface LoadedImage {
  /** A data: URL: as the client sent it, or of what was fetched. */
  readonly url: string;
  readonly fetched: boolean;
  readonly width: number;
  readonly height: number;
}

export interface ImageLoaderOptions {
  /** Most bytes that the images of one request may have together. */
  readonly maxBytes: number;
  /** Undefined where nothing is fetched, and images are taken in data: URLs only. */
  readonly fetcher?: ImageFetcher | undefined;
}

/** Most images that one request can have fetched: one request must not become a thousand to somebody else's server. */
const MAX_FETCHES = 50;
/** How many of them at once. */
const CONCURRENT_FETCHES = 4;

/** Turns the URLs of a request into images of known size. */
export class ImageLoader {
  readonly #maxBytes: number;
  readonly #fetcher: ImageFetcher | undefined;

  constructor({ maxBytes, fetcher }: ImageLoaderOptions) {
    this.#maxBytes = maxBytes;
    this.#fetcher = fetcher;
  }

  /**
   * Finds what is wrong with images that are to be loaded later, as far as it shows without fetching any.
   * @throws ApiError on the `param` of the source at fault
   */
  check(sources: readonly ImageSource[]): void {
    this.#read(sources, new ByteBudget(this.#maxBytes));
  }

  /**
   * The images of one request, in the order of their sources; a promise only when one has to be fetched, which is not
   * begun before all others are known to be right.
   * @throws ApiError on the `param` of the source at fault. What goes wrong with a fetch is always the same error: it
   *   tells nobody what is reachable from here.
   */
  load(sources: readonly ImageSource[], signal: AbortSignal): LoadedImage[] | Promise<LoadedImage[]> {
    const budget = new ByteBudget(this.#maxBytes);
    const { read, remote, fetcher } = this.#read(sources, budget);
    if (fetcher === undefined) return read.filter((image) => image !== undefined);
    return fetchAll(remote, (source) => fetched(source, fetcher, budget, signal)).then((images) => {
      const rest = images.values();
      return read.map((image) => image ?? (rest.next().value as LoadedImage));
    });
  }

  /** The images that are there already, in the places of their sources, and what fetches the others. */
  #read(sources: readonly ImageSource[], budget: ByteBudget) {
    const remote = sources.filter(isRemote);
    const fetcher = remote.length === 0 ? undefined : this.#requireFetcher(remote);
    const read = sources.map((source) => (isRemote(source) ? undefined : inlined(source, budget)));
    return { read, remote, fetcher };
  }

  #requireFetcher(remote: readonly ImageSource[]): ImageFetcher {
    if (this.#fetcher === undefined) {
      throw new ApiError('invalid_image_url', {
        param: remote[0]?.param,
        message: 'This server fetches no images: send the image in a data: URL.',
      });
    }
    const tooMany = remote[MAX_FETCHES];
    if (tooMany !== undefined) {
      throw new ApiError('invalid_image_url', {
        param: tooMany.param,
        message: `This server fetches at most ${MAX_FETCHES} images for one request.`,
      });
    }
    return this.#fetcher;
  }
}

function isRemote({ url }: ImageSource): boolean {
  return /^https?:/i.test(url);
}

function inlined({ url, param }: ImageSource, budget: ByteBudget): LoadedImage {
  const { width, height } = readDataUrl(url, param, budget).size;
  return { url, fetched: false, width, height };
}

async function fetched(
  { url, param }: ImageSource,
  fetcher: ImageFetcher,
  budget: ByteBudget,
  signal: AbortSignal,
): Promise<LoadedImage> {
  try {
    const { bytes, type } = await fetcher.fetch(url, budget, signal);
    const { width, height } = requireImage(bytes, type, param);
    return { url: `data:image/${type};base64,${bytes.toString('base64')}`, fetched: true, width, height };
  } catch {
    signal.throwIfAborted();
    throw new ApiError('failed_to_download_image', { param });
  }
}

/** A few at a time; the first failure ends it, and what else runs then ends with the turn's signal. */
async function fetchAll(
  sources: readonly ImageSource[],
  load: (source: ImageSource) => Promise<LoadedImage>,
): Promise<LoadedImage[]> {
  const images: LoadedImage[] = [];
  const waiting = sources.entries();
  const worker = async () => {
    for (const [index, source] of waiting) images[index] = await load(source);
  };
  await Promise.all(Array.from({ length: CONCURRENT_FETCHES }, worker));
  return images;
}
