import { ApiError, type ErrorCode } from '@turnpike/protocol';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorEnvelope, errorHeaders } from './error-response.js';
import { answerAndClose } from './raw-answer.js';

/** What Node's parser says of bytes that it does not take; of the rest, that they are not HTTP. */
const OF_THE_PARSER: ReadonlyMap<string | undefined, ErrorCode> = new Map([
  ['HPE_HEADER_OVERFLOW', 'headers_too_large'],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', 'body_too_large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', 'request_timeout'],
]);

/**
 * What Node would refuse by itself gets the answer that every error has: JSON, and a request id. A request without a Host
 * reaches its route by this: `admission` refuses it.
 */
export function answerForNode(server: Server): void {
  // An option of the constructor, which is Nest's to call.
  Object.assign(server, { requireHostHeader: false });
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const error = new ApiError('expectation_failed');
    const body = Buffer.from(JSON.stringify(errorEnvelope(error)));
    const headers = {
      'content-type': 'application/json',
      'content-length': body.length,
      connection: 'close',
    };
    response.writeHead(error.status, { ...headers, ...errorHeaders(error) }).end(body);
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    if (!socket.writable || hasBegun(socket)) socket.destroy();
    else answerAndClose(socket, new ApiError(OF_THE_PARSER.get(error.code) ?? 'invalid_http'));
  });
}

/**
 * Whether an answer is being written on this connection, which another one would only spoil. The field is the one that
 * Node's own handler looks at.
 */
function hasBegun(socket: Duplex): boolean {
  return (socket as Duplex & { _httpMessage?: ServerResponse | null })._httpMessage?.headersSent === true;
}
