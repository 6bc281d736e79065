import { ApiError, quotable } from '@turnpike/protocol';
import type { IncomingMessage } from 'node:http';
import { decode, decoderFor } from './content-coding.js';

/**
 * The body of a request as text, unpacked.
 * @param limit bytes, of what came and of what it unpacks to; decided from Content-Length first, and while reading
 * @throws ApiError body_too_large | unsupported_encoding | invalid_json (not UTF-8, corrupt, or cut short)
 */
export async function readBody(request: IncomingMessage, limit: number): Promise<string> {
  const coding = request.headers['content-encoding'] ?? 'identity';
  const decoder = coding === 'identity' ? undefined : decoderFor(coding);
  if (coding !== 'identity' && decoder === undefined) {
    throw new ApiError('unsupported_encoding', {
      message: `Content encoding '${quotable(coding)}' is not supported.`,
    });
  }
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge(limit);
  try {
    // Leaving the loop must not destroy the connection: the answer goes over it.
    const packed = limited(request.iterator({ destroyOnReturn: false }), limit);
    const parts: Buffer[] = [];
    const body = decoder === undefined ? packed : limited(decode(packed, decoder), limit);
    for await (const part of body) parts.push(part);
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts));
  } catch (thrown) {
    // What is still under way has to be read off the connection before its next request.
    request.resume();
    if (thrown instanceof ApiError) throw thrown;
    const what = decoder === undefined ? 'complete UTF-8 text' : `complete ${quotable(coding)} of UTF-8 text`;
    throw new ApiError('invalid_json', { message: `The body is not ${what}.`, cause: thrown });
  }
}

/** The same parts. @throws ApiError body_too_large as soon as they are more than `limit` bytes */
async function* limited(parts: AsyncIterable<Buffer>, limit: number): AsyncGenerator<Buffer> {
  let length = 0;
  for await (const part of parts) {
    length += part.length;
    if (length > limit) throw tooLarge(limit);
    yield part;
  }
}

function tooLarge(limit: number): ApiError {
  return new ApiError('body_too_large', { message: `The body is larger than ${limit} bytes.` });
}
