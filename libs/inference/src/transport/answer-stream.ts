import type { EngineAnswer } from './engine-http.js';
import { SseReader } from './sse-reader.js';

/** What ends a stream of events. */
export const END_OF_STREAM = '[DONE]';
const BLANK: ReadonlySet<number> = new Set(Buffer.from(' \t\r\n\u{feff}'));
/** What lines of events begin with: `data`, `event`, `error`, `id`, `retry`, and comments. */
const LINE_STARTS: ReadonlySet<number> = new Set(Buffer.from('deir:'));

/** A body whose first bytes have been looked at. */
export interface OpenedBody {
  /** Whether it is a stream of events, and not an answer in one piece. */
  readonly isStream: boolean;
  readonly body: AsyncIterable<Buffer>;
}

/**
 * Looks whether an answer is a stream by what it begins with: servers, and what stands in front of them, say that of either wrongly,
 * or not at all.
 */
export async function openBody({ body, headers }: EngineAnswer): Promise<OpenedBody> {
  const bytes = body[Symbol.asyncIterator]();
  const read: Buffer[] = [];
  let first: number | undefined;
  try {
    while (first === undefined) {
      const next: IteratorResult<Buffer, unknown> = await bytes.next();
      if (next.done === true) break;
      read.push(next.value);
      first = next.value.find((byte) => !BLANK.has(byte));
    }
  } catch (thrown) {
    await bytes.return?.();
    throw thrown;
  }
  const isStream =
    first === undefined
      ? String(headers['content-type']).includes('text/event-stream')
      : LINE_STARTS.has(first);
  return { isStream, body: behind(read, bytes) };
}

async function* behind(read: readonly Buffer[], rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* read;
    for (;;) {
      const next: IteratorResult<Buffer, unknown> = await rest.next();
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    await rest.return?.();
  }
}

/**
 * The events of a stream up to its end, those that one read brought together.
 * @throws RangeError for an event that is too long; the error of the connection, behind all that came
 */
export async function* eventsOf(body: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  const lines = new SseReader();
  let isOver = false;
  for await (const bytes of body) {
    const events = lines.push(bytes);
    const end = events.indexOf(END_OF_STREAM);
    // What follows the end is waited for, and is none of it.
    yield isOver ? [] : end === -1 ? events : events.slice(0, end + 1);
    isOver ||= end !== -1;
  }
  if (!isOver) yield lines.end().filter(isWhole);
}

function isWhole(event: string): boolean {
  try {
    JSON.parse(event);
    return true;
  } catch {
    return false;
  }
}
