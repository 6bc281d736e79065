import { Resolver } from 'node:dns/promises';
import { isPublicAddress } from './public-address.js';

/** What a fetcher has to know of the network before it connects to anything. */
export interface Network {
  /** Addresses of a name; none when it has none. */
  addressesOf(name: string, signal: AbortSignal): Promise<readonly string[]>;
  /** Whether an address may be connected to on anybody's behalf. */
  isPublic(address: string): boolean;
  /** Whether any host may be asked at the port of this URL. */
  isUsualPort(url: URL): boolean;
}

/** The Internet: names by DNS, public addresses, ports 80 and 443. */
export const INTERNET: Network = {
  addressesOf: (name, signal) => dnsAddresses(name, signal),
  isPublic: isPublicAddress,
  isUsualPort: ({ port }) => port === '',
};

/**
 * Addresses of a name in DNS. Not by the system's own look-up: that occupies a thread of the few that all files share,
 * for as long as somebody's name server likes.
 * @param servers name servers, by default those of the system
 * @throws the signal's reason
 */
export async function dnsAddresses(
  name: string,
  signal: AbortSignal,
  servers?: readonly string[],
): Promise<string[]> {
  signal.throwIfAborted();
  const resolver = new Resolver();
  if (servers !== undefined) resolver.setServers(servers);
  const stop = () => resolver.cancel();
  signal.addEventListener('abort', stop, { once: true });
  try {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    signal.throwIfAborted();
    return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
