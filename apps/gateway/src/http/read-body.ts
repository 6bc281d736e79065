import { ApiError, quotable } from '@turnpike/protocol';
import type { IncomingMessage } from 'node:http';

/**
 * The body of a request as text.
 * @param limit bytes; decided from Content-Length first, and again while reading
 * @throws ApiError body_too_large | unsupported_encoding | invalid_json (not UTF-8, or cut short)
 */
export async function readBody(request: IncomingMessage, limit: number): Promise<string> {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new ApiError('unsupported_encoding', {
      message: `Content encoding '${quotable(encoding)}' is not supported.`,
    });
  }
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  const parts: Buffer[] = [];
  let length = 0;
  try {
    // Leaving the loop must not destroy the connection: the answer goes over it.
    for await (const part of request.iterator({ destroyOnReturn: false })) {
      length += (part as Buffer).length;
      if (length > limit) throw tooLarge(limit);
      parts.push(part as Buffer);
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts));
  } catch (thrown) {
    // What is still under way has to be read off the connection before its next request.
    request.resume();
    if (thrown instanceof ApiError) throw thrown;
    throw new ApiError('invalid_json', { message: 'The body is not complete UTF-8 text.', cause: thrown });
  }
}

function tooLarge(limit: number): ApiError {
  return new ApiError('body_too_large', { message: `The body is larger than ${limit} bytes.` });
}
