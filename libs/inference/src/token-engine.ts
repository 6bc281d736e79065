import { randomUUID } from 'node:crypto';
import type { FinishReason } from '@turnpike/formats';
import { ApiError } from '@turnpike/protocol';
import { hurry, readEvents } from './answer-events.js';
import type { Dialect, EventReader } from './dialect.js';
import type { EngineCapabilities, EngineChunk, GenerateRequest } from './engine-client.js';
import { errorOfBody, errorOfTransport, unfinished, unreadable } from './engine-errors.js';
import { detectKind, dialectOf, type TokenKind } from './probe.js';
import { requestBody } from './request-body.js';
import { eventsOf, openBody } from './transport/answer-stream.js';
import type { EngineAnswer, EngineHttp } from './transport/engine-http.js';
import { readText } from './transport/read-text.js';

export interface TokenEngineOptions {
  readonly name: string;
  readonly http: EngineHttp;
  /** `auto` asks the server what it is. */
  readonly kind: TokenKind | 'auto';
  /** Whether answers are bound to a schema where the server can do that. */
  readonly structuredOutputs: boolean;
  /** Told of the API that the server is spoken to in, each time that is found out. */
  readonly onApi?: ((api: string) => void) | undefined;
}

/** Bytes of an error answer that are read. */
const MAX_ERROR_BYTES = 64 * 1024;
/** Bytes of an answer in one piece that are read: a long output in ids with their log probabilities. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
/** How long a server may take to say what it is, in ms. */
const PROBE_MS = 10_000;

/** A server that takes and gives token ids, whichever of them it is. */
export class TokenEngine {
  readonly #name: string;
  readonly #kind: TokenEngineOptions['kind'];
  readonly #structuredOutputs: boolean;
  readonly #http: EngineHttp;
  readonly #onApi: TokenEngineOptions['onApi'];
  #probed: Promise<Dialect> | undefined;

  constructor(options: TokenEngineOptions) {
    this.#name = options.name;
    this.#kind = options.kind;
    this.#structuredOutputs = options.structuredOutputs;
    this.#http = options.http;
    this.#onApi = options.onApi;
  }

  async capabilities(signal?: AbortSignal): Promise<EngineCapabilities> {
    const dialect = this.#dialect();
    const { capabilities } = await (signal === undefined ? dialect : unlessAborted(dialect, signal));
    return this.#structuredOutputs ? capabilities : { ...capabilities, grammars: [] };
  }

  /** What the server is and can do is asked anew by the next request. */
  reprobe(): void {
    this.#probed = undefined;
  }

  async *generate(request: GenerateRequest, signal: AbortSignal): AsyncGenerator<EngineChunk> {
    signal.throwIfAborted();
    const dialect = await unlessAborted(this.#dialect(), signal);
    const id = randomUUID();
    /** Whether the server may be at work on it, and has not been told to stop. */
    let running = true;
    const stop = () => {
      if (running && dialect.abort !== undefined)
        this.#http.notify(dialect.abort.path, dialect.abort.body(id));
      running = false;
    };
    signal.addEventListener('abort', stop, { once: true });
    try {
      const reader = dialect.reader(request);
      const answer = await this.#post(dialect, request, id, signal).catch((thrown: unknown) => {
        running &&= thrown instanceof ApiError && thrown.code === 'engine_timeout';
        throw thrown;
      });
      const { maxTokens } = request;
      yield* answered(answer, reader, { signal, maxTokens });
      running = false;
    } finally {
      signal.removeEventListener('abort', stop);
      stop();
    }
  }

  async #post(
    dialect: Dialect,
    request: GenerateRequest,
    id: string,
    signal: AbortSignal,
  ): Promise<EngineAnswer> {
    const body = requestBody(dialect.settings(request, id), dialect.promptField, request.prompt);
    try {
      const answer = await this.#http.post(dialect.path, body, signal);
      if (answer.status === 200) return answer;
      // Another server may be at the address by now.
      if (answer.status === 404) this.#probed = undefined;
      const text = await readText(answer.body, MAX_ERROR_BYTES);
      throw errorOfBody(answer.status, text, answer.headers['retry-after']);
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      const error = errorOfTransport(thrown);
      if (error.code === 'engine_unavailable') this.#probed = undefined;
      throw error;
    }
  }

  /** How the server is spoken to: asked once for all requests, and again when that failed or the server was gone. */
  #dialect(): Promise<Dialect> {
    if (this.#probed !== undefined) return this.#probed;
    const probed = this.#probe();
    this.#probed = probed;
    probed.catch(() => {
      if (this.#probed === probed) this.#probed = undefined;
    });
    return probed;
  }

  async #probe(): Promise<Dialect> {
    const signal = AbortSignal.timeout(PROBE_MS);
    try {
      const kind = this.#kind === 'auto' ? await detectKind(this.#http, signal) : this.#kind;
      if (kind !== undefined) {
        const dialect = await dialectOf(kind, this.#http, signal);
        this.#onApi?.(dialect.capabilities.api);
        return dialect;
      }
    } catch (thrown) {
      throw signal.aborted ? new ApiError('engine_timeout', { cause: thrown }) : errorOfTransport(thrown);
    }
    throw new ApiError('engine_error', {
      cause: new Error(
        `engine '${this.#name}' takes no token ids: set its 'kind', or the model's format to chat`,
      ),
    });
  }
}

/** The same, given up when the signal ends. @throws the signal's reason */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason as Error);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    void promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}

interface AnswerOptions {
  readonly signal: AbortSignal;
  readonly maxTokens: number;
}

async function* answered(
  answer: EngineAnswer,
  reader: EventReader,
  options: AnswerOptions,
): AsyncGenerator<EngineChunk> {
  try {
    const { isStream, body } = await openBody(answer);
    yield* isStream
      ? streamed(answer, eventsOf(body), reader, options)
      : whole(body, reader, options.maxTokens);
  } catch (thrown) {
    throw options.signal.aborted ? thrown : errorOfTransport(thrown);
  }
}

/** A stream of events. */
async function* streamed(
  answer: EngineAnswer,
  stream: AsyncIterable<string[]>,
  reader: EventReader,
  { signal, maxTokens }: AnswerOptions,
): AsyncGenerator<EngineChunk> {
  let finish: FinishReason | undefined;
  let left = maxTokens;
  try {
    for await (const events of stream) {
      const read = readEvents(events, reader, finish !== undefined);
      const chunk = upTo(left, read.chunk);
      left -= chunk.ids.length;
      finish ??= chunk.finish;
      if (saysAnything(chunk)) yield chunk;
      if (read.failure !== undefined && finish === undefined) {
        finish = reader.endOf?.(true);
        if (finish === undefined) throw read.failure;
        yield { ids: [], finish };
      }
      if (read.beyond || chunk !== read.chunk) break;
      hurry(answer, events, finish !== undefined);
    }
  } catch (thrown) {
    // An answer that has finished stays finished, whatever becomes of its connection.
    if (finish === undefined || signal.aborted) throw thrown;
  }
  if (finish !== undefined) return;
  finish = reader.endOf?.(false);
  if (finish === undefined) throw unfinished();
  yield { ids: [], finish };
}

/** One object: the answer of a server that does not stream here, or an error that somebody put into a 200. */
async function* whole(
  body: AsyncIterable<Buffer>,
  reader: EventReader,
  maxTokens: number,
): AsyncGenerator<EngineChunk> {
  const read = readEvents([await readText(body, MAX_ANSWER_BYTES)], reader, false);
  if (read.failure !== undefined) throw read.failure;
  const chunk = upTo(maxTokens, read.chunk);
  const finish = chunk.finish ?? reader.endOf?.(false);
  if (finish === undefined && chunk.ids.length === 0) throw unreadable();
  yield { ...chunk, finish };
  if (finish === undefined) throw unfinished();
}

/** The same up to a limit that the server should have kept to: a client asked for no more, and pays for no more. */
function upTo(most: number, chunk: EngineChunk): EngineChunk {
  if (chunk.ids.length <= most) return chunk;
  return { ...chunk, ids: chunk.ids.slice(0, most), finish: 'length' };
}

function saysAnything({ ids, lost, finish, usage }: EngineChunk): boolean {
  return ids.length > 0 || lost !== undefined || finish !== undefined || usage !== undefined;
}
