import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

/** What is there so far is given out, and what breaks off is an end: whether an answer was whole is told by what it says. */
const EAGER = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };

const UNPACKERS: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip(EAGER),
  'x-gzip': () => createGunzip(EAGER),
  deflate: () => createInflate(EAGER),
  br: () => createBrotliDecompress(),
};

/** The body of an answer as it was before somebody packed it, which nobody was asked to: some that stand in front of engines do. */
export function unpacked(response: IncomingMessage): Readable {
  const encoding = response.headers['content-encoding']?.trim().toLowerCase() ?? '';
  const unpacker = Object.hasOwn(UNPACKERS, encoding) ? UNPACKERS[encoding]?.() : undefined;
  if (unpacker === undefined) return response;
  // What fails is told by the stream itself.
  pipeline(response, unpacker, () => undefined);
  return unpacker;
}
