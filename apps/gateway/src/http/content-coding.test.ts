import { describe, expect, it } from '@jest/globals';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { ApiError } from '@turnpike/protocol';
import { readBody } from './read-body.js';

const LIMIT = 1024 * 1024;
const TEXT = JSON.stringify({ model: 'm', input: 'é😀 '.repeat(1_000) });

/** A zstd frame whose blocks each repeat one byte: RFC 8878, 3.1.1.2.2 (RLE_Block). */
function zstdOfRepeats(letter: string, blocks: number): Buffer {
  const BLOCK = 128 * 1024;
  const frame = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38])];
  for (let index = 0; index < blocks; index++) {
    const last = index === blocks - 1 ? 1 : 0;
    const header = last | (1 << 1) | (BLOCK << 3);
    frame.push(
      Buffer.from([header & 0xff, (header >> 8) & 0xff, (header >> 16) & 0xff, letter.charCodeAt(0)]),
    );
  }
  return Buffer.concat(frame);
}

/** A zstd frame that holds `text` as it is, in raw blocks. */
function zstdOf(text: string): Buffer {
  const bytes = Buffer.from(text);
  const header = 1 | (bytes.length << 3);
  return Buffer.concat([
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38]),
    Buffer.from([header & 0xff, (header >> 8) & 0xff, (header >> 16) & 0xff]),
    bytes,
  ]);
}

function requestOf(body: Buffer, coding: string, chunk = 1_000): IncomingMessage {
  const chunks = Array.from({ length: Math.ceil(body.length / chunk) }, (_, index) =>
    body.subarray(index * chunk, (index + 1) * chunk),
  );
  const stream = Readable.from(chunks, { objectMode: false });
  return Object.assign(stream, { headers: { 'content-encoding': coding } }) as unknown as IncomingMessage;
}

async function codeOf(request: IncomingMessage): Promise<string> {
  const thrown: unknown = await readBody(request, LIMIT).catch((error: unknown) => error);
  if (thrown instanceof ApiError) return thrown.code;
  throw new Error(`not refused: ${String(thrown).slice(0, 80)}`);
}

const PACKED: [coding: string, body: Buffer][] = [
  ['gzip', gzipSync(TEXT)],
  ['x-gzip', gzipSync(TEXT)],
  ['GZIP', gzipSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
  ['br', brotliCompressSync(TEXT)],
  ['zstd', zstdOf(TEXT)],
];

describe('packed bodies', () => {
  it.each(PACKED)('%s is unpacked, however it is cut', async (coding, body) => {
    for (const chunk of [1, 7, 1_000, body.length]) {
      expect(await readBody(requestOf(body, coding, chunk), LIMIT)).toBe(TEXT);
    }
  });

  it.each(PACKED)('%s that is cut short or corrupt is a 400', async (coding, body) => {
    expect(await codeOf(requestOf(body.subarray(0, body.length - 5), coding))).toBe('invalid_json');
    expect(await codeOf(requestOf(Buffer.from('certainly not packed'), coding))).toBe('invalid_json');
  });

  it.each([
    ['gzip', gzipSync(Buffer.alloc(64 * LIMIT, 'a'))],
    ['br', brotliCompressSync(Buffer.alloc(64 * LIMIT, 'a'))],
    ['zstd', zstdOfRepeats('a', 512)],
  ])('%s that unpacks to more than the limit is a 413 while it is unpacked', async (coding, bomb) => {
    expect(bomb.length).toBeLessThan(LIMIT / 10);
    expect(await codeOf(requestOf(bomb, coding))).toBe('body_too_large');
  });

  it('any other coding is a 415', async () => {
    for (const coding of ['foo', 'gzip, br', '__proto__']) {
      expect(await codeOf(requestOf(Buffer.from('{}'), coding))).toBe('unsupported_encoding');
    }
  });
});
