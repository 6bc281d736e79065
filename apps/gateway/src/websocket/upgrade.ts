import type { KeyRing, Principal } from '@turnpike/access';
import { ApiError, quotable } from '@turnpike/protocol';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { STATUS_CODES } from 'node:http';
import type { Config } from '../config/schema.js';
import { errorEnvelope, errorHeaders } from '../http/error-response.js';

/** Paths of the WebSocket, `/v1` optional because clients differ in what their base URL ends with. */
const WEBSOCKET_PATH = /^(?:\/v1)?\/responses\/?$/;

/** What is known about a server when somebody knocks. */
export interface UpgradeState {
  readonly config: Config;
  readonly keys: KeyRing;
  readonly openConnections: number;
  readonly draining: boolean;
}

/**
 * Decides about an upgrade before any WebSocket exists, so that a refusal is a plain HTTP answer.
 * @throws ApiError with the status to refuse with
 */
export function admitUpgrade(request: IncomingMessage, state: UpgradeState): Principal {
  // Node hands over every kind of upgrade; some HTTP clients try HTTP/2 this way.
  if (request.headers.upgrade?.toLowerCase() !== 'websocket') {
    throw new ApiError('upgrade_required', {
      message: 'This server upgrades to WebSocket only: send other requests without an Upgrade header.',
    });
  }
  // Not through the URL class: it throws on '//' and takes the host out of '//host/v1/responses'.
  const [path = ''] = (request.url ?? '').split('?', 1);
  if (!WEBSOCKET_PATH.test(path)) {
    throw new ApiError('not_found', { message: `There is nothing at '${quotable(path)}'.` });
  }
  if (!state.config.websocket) {
    throw new ApiError('upgrade_required', { message: 'WebSocket is switched off: use HTTP.' });
  }
  const { origin } = request.headers;
  // A page of another site could otherwise speak to an open server on the visitor's own machine.
  if (origin !== undefined && !state.config.allowedOrigins.includes(origin)) {
    throw new ApiError('origin_not_allowed');
  }
  const principal = state.keys.authenticate(request.headers.authorization);
  if (state.draining) throw new ApiError('server_shutting_down', { retryAfter: 1 });
  if (state.openConnections >= state.config.limits.connections) {
    throw new ApiError('too_many_connections', { retryAfter: 1 });
  }
  return principal;
}

/** Answers an upgrade with an HTTP error and closes the socket. */
export function refuseUpgrade(socket: Duplex, error: ApiError): void {
  const body = JSON.stringify(errorEnvelope(error));
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
    ...errorHeaders(error),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  socket.end(
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? 'Error'}\r\n${lines.join('\r\n')}\r\n\r\n${body}`,
  );
}
