import { type IncomingMessage } from 'node:http';
import { RequestError } from './errors.js';

/** Largest request body: a million token ids are about 7 MB. */
export const MAX_BODY_BYTES = 64 * 1024 * 1024;

/**
 * The whole body of a request.
 * @throws RequestError 413 above {@link MAX_BODY_BYTES}; the stream's own error when the client leaves early.
 */
export async function readBody(request: IncomingMessage, limit = MAX_BODY_BYTES): Promise<Buffer> {
  const tooLarge = () => new RequestError(413, `The request body is larger than ${limit} bytes.`);
  if (Number(request.headers['content-length'] ?? 0) > limit) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  // A request that is too large must still be answered, so leaving the loop must not destroy it.
  const stream: AsyncIterable<Buffer> = request.iterator({ destroyOnReturn: false });
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > limit) throw tooLarge();
    chunks.push(chunk);
  }
  return chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, size);
}
