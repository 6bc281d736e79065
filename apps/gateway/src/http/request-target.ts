import type { IncomingMessage, Server } from 'node:http';

/** Scheme and authority of a whole URL. */
const SITE = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/**
 * The target of a request as a path with its query. It may be a whole URL (RFC 9112, 3.2.2), and is whatever somebody
 * sends. Express gives what does not begin like a path, or holds a fragment, to a parser of Node's that prints the
 * URLs it dislikes on stderr, query and all.
 */
export function originForm(target: string): string {
  const [path = ''] = target.replace(SITE, '').split('#', 1);
  return `/${path.replace(/^\/+/, '')}`;
}

/** Makes every request reach Express with such a target. */
export function useOriginForm(server: Server): void {
  server.prependListener('request', (request: IncomingMessage) => {
    request.url = originForm(request.url ?? '/');
  });
}
