import { ApiError } from '@turnpike/protocol';
import type { IncomingMessage } from 'node:http';

/** Forms and decisions are small. */
const MOST_BYTES = 64 * 1024;

/** The body of a request. @throws ApiError body_too_large | invalid_json (not UTF-8) */
export async function readText(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    length += (part as Buffer).length;
    if (length > MOST_BYTES) {
      request.resume();
      throw new ApiError('body_too_large');
    }
    parts.push(part as Buffer);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts));
  } catch (thrown) {
    throw new ApiError('invalid_json', { message: 'The body is not UTF-8.', cause: thrown });
  }
}

/** The fields of a form. */
export async function readForm(request: IncomingMessage): Promise<URLSearchParams> {
  return new URLSearchParams(await readText(request));
}
