import { mintId, type ApiError, type ErrorBody } from '@turnpike/protocol';

/** The body of an HTTP error. */
export function errorEnvelope(error: ApiError): { error: ErrorBody } {
  return { error: error.body };
}

/** Headers that belong to an error; every answer carries a request id. */
export function errorHeaders(error: ApiError): Record<string, string> {
  const headers: Record<string, string> = { 'x-request-id': mintId('request') };
  if (error.retryAfter !== undefined) headers['retry-after'] = String(error.retryAfter);
  if (error.code === 'upgrade_required') headers['upgrade'] = 'websocket';
  if (error.code === 'method_not_allowed') headers['allow'] = 'POST';
  return headers;
}
