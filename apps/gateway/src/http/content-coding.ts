import { Decompress } from 'fzstd';
import { once } from 'node:events';
import { Transform, type TransformCallback } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';

/** Content codings of requests, by their names in HTTP (RFC 9110, section 8.4.1; zstd: RFC 8878). */
const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: () => new ZstdDecoder(),
};

/** A decoder for this coding; undefined for one that is not supported. */
export function decoderFor(coding: string): Transform | undefined {
  const name = coding.trim().toLowerCase();
  return Object.hasOwn(DECODERS, name) ? DECODERS[name]?.() : undefined;
}

/**
 * What `source` holds, decoded. Leaving the iteration stops the decoder, so that a small body which unpacks to a huge
 * one costs no more than what was taken of it.
 * @throws what the decoder throws on corrupt or incomplete input
 */
export async function* decode(source: AsyncIterable<Buffer>, decoder: Transform): AsyncGenerator<Buffer> {
  const feeding = feed(source, decoder);
  try {
    for await (const part of decoder) yield part as Buffer;
    await feeding;
  } finally {
    decoder.destroy();
    await feeding.catch(() => undefined);
  }
}

async function feed(source: AsyncIterable<Buffer>, decoder: Transform): Promise<void> {
  try {
    for await (const part of source) {
      if (decoder.destroyed) return;
      if (!decoder.write(part)) await Promise.race([once(decoder, 'drain'), once(decoder, 'close')]);
    }
    decoder.end();
  } catch (thrown) {
    decoder.destroy(thrown as Error);
    throw thrown;
  }
}

/** Bytes unpacked before others get their turn; a kibibyte can hold at most 32 MiB of repetition. */
const ZSTD_SLICE_BYTES = 1024;

/** zstd is in Node's own zlib from version 22.15 on; until then a small decoder in JavaScript. */
class ZstdDecoder extends Transform {
  readonly #decompress = new Decompress((part) => void this.push(part));

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    this.#slices(chunk).then(() => callback(), callback);
  }

  override _flush(callback: TransformCallback): void {
    try {
      this.#decompress.push(new Uint8Array(0), true);
      callback();
    } catch (thrown) {
      callback(thrown as Error);
    }
  }

  async #slices(chunk: Buffer): Promise<void> {
    for (let from = 0; from < chunk.length && !this.destroyed; from += ZSTD_SLICE_BYTES) {
      this.#decompress.push(chunk.subarray(from, from + ZSTD_SLICE_BYTES));
      await setImmediate();
    }
  }
}
