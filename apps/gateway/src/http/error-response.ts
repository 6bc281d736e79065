import { mintId, type ApiError, type ErrorBody } from '@turnpike/protocol';

/** The body of an HTTP error. */
export function errorEnvelope(error: ApiError): { error: ErrorBody } {
  return { error: error.body };
}

/** Headers that belong to an error, over HTTP and in the error frames of a WebSocket. Every one has a request id. */
export function errorHeaders(error: ApiError, requestId = mintId('request')): Record<string, string> {
  const headers: Record<string, string> = { 'x-request-id': requestId };
  if (error.retryAfter !== undefined) headers['retry-after'] = String(error.retryAfter);
  if (error.code === 'upgrade_required') {
    headers['upgrade'] = 'websocket';
    headers['sec-websocket-version'] = '13';
  }
  return headers;
}

/** Whether an error is worth a line in the log: something failed, rather than that the server said no. */
export function isFault({ status, code }: ApiError): boolean {
  return status >= 500 && code !== 'server_shutting_down' && code !== 'too_many_connections';
}
