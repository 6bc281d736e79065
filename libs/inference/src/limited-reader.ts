import type { MessageChunk, MessageReader } from './messages.js';
import { countOf, type Fields } from './read-values.js';

/**
 * Bytes of text that no vocabulary gets out of a token over a whole output: o200k gets 4 to 5, in any language. A server that
 * says more than that has forgotten its limit.
 */
const MOST_BYTES_PER_TOKEN = 16;
/** Bytes that are let through however low the limit: a few tokens can be long ones. */
const SLACK_BYTES = 1_024;

/** Most tokens of the output that a request asks for; undefined where it leaves them to the server. */
export function limitOf(settings: Fields): number | undefined {
  return countOf(
    settings['max_tokens'] ?? settings['max_completion_tokens'] ?? settings['max_output_tokens'],
  );
}

/**
 * Reads an answer, and cuts it where the server does not. One that was told its limit counts tokens of its own, and is cut only
 * where no count could be right; one that takes no limit is cut by what its texts are estimated at.
 */
export class LimitedReader {
  readonly #reader: MessageReader;
  readonly #isTold: boolean;
  /** Bytes for a server that was told, else tokens. */
  #left: number;

  /** @param limit in tokens */
  constructor(reader: MessageReader, limit: number | undefined, isTold: boolean) {
    this.#reader = reader;
    this.#isTold = isTold;
    const tokens = limit ?? Infinity;
    this.#left = isTold ? tokens * MOST_BYTES_PER_TOKEN + SLACK_BYTES : tokens;
  }

  /** Whether the limit has been passed. */
  get isBeyond(): boolean {
    return this.#left < 0;
  }

  /** @throws as {@link MessageReader.read} does */
  read(event: Fields): MessageChunk {
    const chunk = this.#reader.read(event);
    this.#left -= this.#isTold ? textBytes(chunk) : chunk.sampled;
    return this.isBeyond ? { ...chunk, finish: chunk.finish ?? 'length' } : chunk;
  }
}

function textBytes({ events }: MessageChunk): number {
  return events.reduce(
    (bytes, event) => (event.kind === 'text' ? bytes + Buffer.byteLength(event.text) : bytes),
    0,
  );
}
