import type { Principal } from '@turnpike/access';
import { ApiError, quotable } from '@turnpike/protocol';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { admitOrigin, type AdmissionState } from '../http/admission.js';

/** Paths of the WebSocket, `/v1` optional because clients differ in what their base URL ends with. */
const WEBSOCKET_PATH = /^(?:\/v1)?\/responses\/?$/;

/** Versions of the protocol that ws speaks. Any other is answered with 426 and the one there is (RFC 6455, 4.4). */
const VERSIONS: ReadonlySet<string> = new Set(['13', '8']);

/** What is known about a server when somebody knocks. */
export interface UpgradeState extends AdmissionState {
  readonly openConnections: number;
  /** Open connections of a key. */
  readonly connectionsOf: (principal: Principal) => number;
}

/** Headers that ask for another protocol. */
const UPGRADE_HEADERS = new Set(['upgrade', 'connection', 'http2-settings']);

/**
 * Decides about an upgrade before it is known who asks, and before any WebSocket exists: a refusal is a plain HTTP answer.
 * @throws ApiError with the status to refuse with
 */
export function admitUpgrade(request: IncomingMessage, state: UpgradeState): void {
  // RFC 6455, 4.1.
  if (request.httpVersion === '1.0') {
    throw new ApiError('upgrade_required', { message: 'An upgrade to WebSocket takes HTTP/1.1.' });
  }
  // Not through the URL class: it throws on '//' and takes the host out of '//host/v1/responses'.
  const [path = ''] = (request.url ?? '').split('?', 1);
  if (!WEBSOCKET_PATH.test(path)) {
    throw new ApiError('not_found', { message: `There is nothing at '${quotable(path)}'.` });
  }
  if (!state.config.websocket) {
    throw new ApiError('upgrade_required', { message: 'WebSocket is switched off: use HTTP.' });
  }
  const version = request.headers['sec-websocket-version'];
  if (version !== undefined && !VERSIONS.has(version)) {
    throw new ApiError('upgrade_required', { message: 'This server speaks version 13 of WebSocket.' });
  }
  admitOrigin(request.headers, state);
}

/**
 * Decides whether there is room for one more connection of a key. What was decided holds as long as nothing is awaited.
 * @throws ApiError with the status to refuse with
 */
export function admitConnection(principal: Principal, state: UpgradeState): void {
  if (state.draining) throw new ApiError('server_shutting_down', { retryAfter: 1 });
  if (state.openConnections >= state.config.limits.connections) {
    throw new ApiError('too_many_connections', { retryAfter: 1 });
  }
  if (state.connectionsOf(principal) >= state.config.limits.connectionsPerKey) {
    throw new ApiError('too_many_connections_of_key', { retryAfter: 1 });
  }
}

/**
 * Whether a request asks for the protocol that there is an upgrade to. A WebSocket begins with a GET: any other method has
 * the headers from a proxy that adds them to every request.
 */
export function asksForWebSocket({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';
}

/**
 * Serves a request as if it did not ask to upgrade, which RFC 9110 leaves to the server: some HTTP clients try HTTP/2
 * this way. Node has let go of its connection, so the connection is handed over once more, without those headers.
 * @param head bytes that came after the headers
 */
export function serveWithoutUpgrade(
  server: Server,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const lines = [`${request.method ?? 'GET'} ${request.url ?? '/'} HTTP/${request.httpVersion}`];
  for (let index = 0; index < request.rawHeaders.length; index += 2) {
    const [name = '', value = ''] = request.rawHeaders.slice(index, index + 2);
    if (!UPGRADE_HEADERS.has(name.toLowerCase())) lines.push(`${name}: ${value}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  server.emit('connection', socket);
}
