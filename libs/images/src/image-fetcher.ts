import { isIP, isIPv6, type LookupFunction } from 'node:net';
import { Agent, request as send, type Dispatcher } from 'undici';
import type { ByteBudget } from './byte-budget.js';
import { mediaType } from './data-url.js';
import type { ImageType } from './image-size.js';
import { INTERNET, type Network } from './network.js';

export interface ImageFetcherOptions {
  /** How long one image may take in all: names, redirects and reading, in ms. */
  readonly timeoutMs: number;
  /**
   * Hosts, as `host` or `host:port`, that are fetched from whatever their address is. Only they may have another port
   * than 80 and 443.
   */
  readonly allowHosts: readonly string[];
  /** By default {@link INTERNET}. */
  readonly network?: Network;
}

/** What a server sent, and as what it declared it. */
export interface FetchedImage {
  readonly bytes: Buffer;
  readonly type: ImageType;
}

const MAX_REDIRECTS = 3;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];
/** No server takes longer ones, and every redirect could bring another. */
const MAX_URL_CHARACTERS = 8192;

/**
 * Fetches images for clients, and nothing that clients could not fetch themselves: every URL, that of a redirect too, is
 * checked, its name is resolved once, and the connection goes to the very addresses that were checked. Nothing of the
 * environment (proxies), no cookies and no credentials take part.
 */
export class ImageFetcher {
  readonly #timeoutMs: number;
  readonly #allowHosts: ReadonlySet<string>;
  readonly #network: Network;

  constructor({ timeoutMs, allowHosts, network = INTERNET }: ImageFetcherOptions) {
    this.#timeoutMs = timeoutMs;
    this.#allowHosts = new Set(allowHosts.map((host) => new URL(`http://${host}`).host));
    this.#network = network;
  }

  /**
   * The body behind a URL.
   * @param budget bytes that may be read
   * @throws Error that says what went wrong; it is for nobody but the caller, because whoever wrote the URL must not learn
   *   which addresses answer
   */
  async fetch(url: string, budget: ByteBudget, signal: AbortSignal): Promise<FetchedImage> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(this.#timeoutMs)]);
    let next = new URL(url);
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const answer = await this.#get(next, budget, limit);
      if ('bytes' in answer) return answer;
      next = new URL(answer.location, next);
    }
    throw new Error('too many redirects');
  }

  async #get(
    url: URL,
    budget: ByteBudget,
    signal: AbortSignal,
  ): Promise<FetchedImage | { readonly location: string }> {
    const addresses = await this.#admit(url, signal);
    const dispatcher = new Agent({ connect: { lookup: pinnedTo(addresses) } });
    try {
      const { statusCode, headers, body } = await send(url, {
        dispatcher,
        signal,
        headers: { accept: 'image/png, image/jpeg, image/gif, image/webp', 'user-agent': 'turnpike' },
      });
      const { location } = headers;
      if (REDIRECTS.includes(statusCode) && typeof location === 'string') return { location };
      if (statusCode !== 200) throw new Error(`status ${statusCode}`);
      const type = mediaType(String(headers['content-type']).split(';', 1).join('').trim().toLowerCase());
      if (type === undefined) throw new Error('not declared as an image');
      return { bytes: await readWithin(budget, body), type };
    } finally {
      // What is not read of an answer goes with its connection.
      await dispatcher.destroy();
    }
  }

  /** @returns the addresses to connect to */
  async #admit(url: URL, signal: AbortSignal): Promise<readonly string[]> {
    if (url.protocol !== 'http:' && url.protocol !== 'https:') throw new Error('another scheme');
    if (url.href.length > MAX_URL_CHARACTERS) throw new Error('too long');
    if (url.username !== '' || url.password !== '') throw new Error('credentials');
    const isListed = this.#allowHosts.has(url.host);
    if (!isListed && !this.#network.isUsualPort(url)) throw new Error('another port');
    const name = url.hostname.replace(/^\[|\]$/g, '');
    const addresses = isIP(name) === 0 ? await this.#network.addressesOf(name, signal) : [name];
    if (addresses.length === 0) throw new Error('no address');
    // One address that is not public says enough about a name.
    if (!isListed && !addresses.every((address) => this.#network.isPublic(address)))
      throw new Error('not a public address');
    return addresses;
  }
}

/** Answers every look-up with these addresses, so that a name cannot mean something else a moment later. */
function pinnedTo(addresses: readonly string[]): LookupFunction {
  const entries = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
  return (_name, { all }, done) => {
    const [first] = entries;
    if (all === true) done(null, entries);
    else done(null, first?.address ?? '', first?.family);
  };
}

async function readWithin(budget: ByteBudget, body: Dispatcher.ResponseData['body']): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of body) {
    if (!budget.take((part as Buffer).length)) throw new Error('too many bytes');
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts);
}
