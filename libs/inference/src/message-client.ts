import type { OutputEvent } from '@turnpike/formats';
import { ApiError } from '@turnpike/protocol';
import { hurry, parseEvent } from './answer-events.js';
import { errorOfBody, errorOfTransport, unfinished, unreadable } from './engine-errors.js';
import type { MessageChunk, MessageRequest } from './messages.js';
import { OptionalFields, refusedField, withoutRefused } from './optional-fields.js';
import { LimitedReader, limitOf } from './limited-reader.js';
import { listsBody } from './request-body.js';
import { END_OF_STREAM, eventsOf, openBody } from './transport/answer-stream.js';
import type { EngineAnswer, EngineHttp } from './transport/engine-http.js';
import { readText } from './transport/read-text.js';

export const PATHS = { chat: '/v1/chat/completions', responses: '/v1/responses' } as const;
/** Bytes of an error answer that are read. */
const MAX_ERROR_BYTES = 64 * 1024;
/** Bytes of an answer in one piece that are read. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/** Speaks to a server in messages. */
export class MessageClient {
  readonly #http: EngineHttp;
  readonly #optional = new OptionalFields();

  constructor(http: EngineHttp) {
    this.#http = http;
  }

  async *converse(request: MessageRequest, signal: AbortSignal): AsyncGenerator<MessageChunk> {
    signal.throwIfAborted();
    const { answer, isTold } = await this.#post(request, signal);
    const reader = new LimitedReader(request.reader, limitOf(request.settings), isTold);
    try {
      const { isStream, body } = await openBody(answer);
      yield* isStream ? streamed(answer, eventsOf(body), reader, signal) : whole(body, reader);
    } catch (thrown) {
      throw signal.aborted ? thrown : errorOfTransport(thrown);
    }
  }

  /** The answer, and whether the server knows the limit of its output. */
  async #post(
    request: MessageRequest,
    signal: AbortSignal,
  ): Promise<{ readonly answer: EngineAnswer; readonly isTold: boolean }> {
    try {
      const { model } = request.settings;
      let refused = this.#optional.refusedBy(model);
      for (;;) {
        const settings = withoutRefused(request.settings, refused);
        const body = listsBody(settings, request.lists);
        const answer = await this.#http.post(PATHS[request.api], body, signal);
        if (answer.status === 200) {
          this.#optional.remember(model, refused);
          return { answer, isTold: limitOf(settings) !== undefined };
        }
        const text = await readText(answer.body, MAX_ERROR_BYTES);
        const field = answer.status === 400 ? refusedField(settings, text) : undefined;
        if (field === undefined) throw errorOfBody(answer.status, text, answer.headers['retry-after']);
        // Nothing has been sampled: what is in the way is left out.
        refused = new Set([...refused, field]);
      }
    } catch (thrown) {
      throw signal.aborted ? thrown : errorOfTransport(thrown);
    }
  }
}

/** A stream of events. What one read brought is one chunk. */
async function* streamed(
  answer: EngineAnswer,
  stream: AsyncIterable<string[]>,
  reader: LimitedReader,
  signal: AbortSignal,
): AsyncGenerator<MessageChunk> {
  let finished = false;
  try {
    for await (const events of stream) {
      const { chunk, failure } = readAll(events, reader);
      finished ||= chunk.finish !== undefined;
      if (chunk.events.length > 0 || chunk.finish !== undefined || chunk.usage !== undefined) yield chunk;
      if (failure !== undefined && !finished) throw failure;
      if (reader.isBeyond) break;
      hurry(answer, events, finished);
    }
  } catch (thrown) {
    // An answer that has finished stays finished, whatever becomes of its connection.
    if (!finished || signal.aborted) throw thrown;
  }
  if (!finished) throw unfinished();
}

/** One object: the answer of a server that does not stream, or an error that somebody put into a 200. */
async function* whole(body: AsyncIterable<Buffer>, reader: LimitedReader): AsyncGenerator<MessageChunk> {
  const { chunk, failure } = readAll([await readText(body, MAX_ANSWER_BYTES)], reader);
  if (failure !== undefined) throw failure;
  yield chunk;
  if (chunk.finish === undefined) throw unfinished();
}

function readAll(
  events: readonly string[],
  reader: LimitedReader,
): { chunk: MessageChunk; failure: ApiError | undefined } {
  const read: OutputEvent[] = [];
  let sampled = 0;
  let finish: MessageChunk['finish'];
  let usage: MessageChunk['usage'];
  let failure: ApiError | undefined;
  try {
    for (const data of events) {
      if (data === END_OF_STREAM) continue;
      const chunk = reader.read(parseEvent(data));
      read.push(...chunk.events);
      sampled += chunk.sampled;
      finish ??= chunk.finish;
      usage = chunk.usage ?? usage;
      if (reader.isBeyond) break;
    }
  } catch (thrown) {
    failure = thrown instanceof ApiError ? thrown : unreadable();
  }
  return { chunk: { events: read, sampled, finish, usage }, failure };
}
