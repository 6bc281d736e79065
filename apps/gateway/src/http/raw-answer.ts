import type { ApiError } from '@turnpike/protocol';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorEnvelope, errorHeaders } from './error-response.js';

/** How long a client may leave a connection open that its answer has ended, in ms. */
const CLOSING_MS = 1_000;

/** Answers with an HTTP error where there is only a connection, and closes it, also when the client does not. */
export function answerAndClose(socket: Duplex, error: ApiError): void {
  const body = JSON.stringify(errorEnvelope(error));
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
    ...errorHeaders(error),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  // What the client still sends has to be read for its end to be seen.
  socket.resume();
  const cut = setTimeout(() => socket.destroy(), CLOSING_MS);
  socket.once('close', () => clearTimeout(cut));
  socket.end(
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? 'Error'}\r\n${lines.join('\r\n')}\r\n\r\n${body}`,
  );
}
