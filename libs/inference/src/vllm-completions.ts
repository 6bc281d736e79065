import type { Readable } from 'node:stream';
import { ApiError } from '@turnpike/protocol';
import { Agent, request as send, type Dispatcher } from 'undici';
import type { EngineChunk, EngineClient, EngineImage, GenerateRequest } from './engine-client.js';
import { chunkOf, type CompletionEvent } from './completion-chunk.js';
import { errorOfBody, errorOfTransport } from './engine-errors.js';
import { SseReader } from './sse-reader.js';

export interface VllmCompletionsOptions {
  readonly name: string;
  /** Base URL of the server, without `/v1`. */
  readonly url: string;
  /** Longest wait for the first byte and between bytes, in ms: long prefills are silent. */
  readonly idleTimeoutMs: number;
  /** How the server takes a grammar: `vllm` as `structured_outputs`, or not at all. */
  readonly structuredOutputs?: 'none' | 'vllm' | undefined;
  /**
   * How the server takes images: as `content_parts`, or not at all. vLLM has that field at `/inference/v1/generate`; at
   * `/v1/completions` only the built-in engine has it.
   */
  readonly images?: 'none' | 'content_parts' | undefined;
}

/** uvicorn closes idle connections after 5 s: a connection is given up before that, so that none is found dead. */
const KEEP_ALIVE_MS = 4_000;
/** Bytes of an error answer that are read. */
const MAX_ERROR_BYTES = 64 * 1024;
const END_OF_STREAM = '[DONE]';

/** vLLM's `/v1/completions` with token ids in and out. Source: vllm/entrypoints/openai/completion/protocol.py. */
export class VllmCompletions implements EngineClient {
  readonly name: string;
  readonly bindsJson: boolean;
  readonly takesImages: boolean;
  readonly #url: string;
  readonly #agent: Agent;

  constructor(options: VllmCompletionsOptions) {
    this.name = options.name;
    this.bindsJson = options.structuredOutputs === 'vllm';
    this.takesImages = options.images === 'content_parts';
    this.#url = `${options.url.replace(/\/+$/, '')}/v1/completions`;
    this.#agent = new Agent({
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      headersTimeout: options.idleTimeoutMs,
      bodyTimeout: options.idleTimeoutMs,
    });
  }

  async *generate(request: GenerateRequest, signal: AbortSignal): AsyncGenerator<EngineChunk> {
    const response = await this.#post(request, signal);
    const reader = new SseReader();
    let finished = false;
    try {
      for await (const bytes of response.body) {
        const { chunk, failure } = readEvents(reader.push(bytes as Buffer), request.vocabularySize);
        if (chunk.finish !== undefined) finished = true;
        if (chunk.ids.length > 0 || chunk.finish !== undefined || chunk.usage !== undefined) yield chunk;
        if (failure !== undefined && !finished) throw failure;
      }
    } catch (thrown) {
      if (signal.aborted || thrown instanceof ApiError) throw thrown;
      // An answer that has finished stays finished, whatever becomes of its connection.
      if (!finished) throw errorOfTransport(thrown);
    }
    if (!finished) {
      throw new ApiError('engine_error', {
        message: 'The inference engine ended its answer without finishing it.',
      });
    }
  }

  close(): Promise<void> {
    return this.#agent.close();
  }

  async #post(request: GenerateRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const pieces = bodyOf(request);
    const length = pieces.reduce((bytes, piece) => bytes + piece.length, 0);
    try {
      const response = await send(this.#url, {
        method: 'POST',
        dispatcher: this.#agent,
        headers: { 'content-type': 'application/json', 'content-length': String(length) },
        // undici takes any iterable of bytes; its types know of streams only.
        body: pieces as unknown as Readable,
        signal,
      });
      const { statusCode: status, headers, body } = response;
      if (status === 200 && String(headers['content-type']).includes('text/event-stream')) return response;
      throw errorOfAnswer(status, await readStart(body, MAX_ERROR_BYTES));
    } catch (thrown) {
      throw signal.aborted ? thrown : errorOfTransport(thrown);
    }
  }
}

/** Pieces below this many bytes are joined: a copy of them costs less than a write of their own. */
const SMALL_PIECE_BYTES = 16 * 1024;

/** The request body: settings, then the prompt from its cached bytes. Nothing of the history is serialised again. */
function bodyOf(request: GenerateRequest): Buffer[] {
  const settings = JSON.stringify({
    model: request.model,
    max_tokens: request.maxTokens,
    stop_token_ids: request.stopIds,
    temperature: request.temperature,
    top_p: request.topP,
    cache_salt: request.cacheSalt,
    structured_outputs: request.json && { json: request.json },
    stream: true,
    stream_options: { include_usage: true },
    return_token_ids: true,
    skip_special_tokens: false,
    add_special_tokens: false,
  });
  return joinSmall([
    Buffer.from(`${settings.slice(0, -1)},"prompt":`),
    ...request.prompt.json,
    ...contentParts(request.prompt.images ?? []),
    Buffer.from('}'),
  ]);
}

/**
 * Images beside the ids, one for each placeholder. The URLs are put in as they are: there is nothing to escape in them,
 * and they are the bulk of the body. Source: vllm/entrypoints/scale_out/token_in_token_out/protocol.py.
 */
function contentParts(images: readonly EngineImage[]): Buffer[] {
  if (images.length === 0) return [];
  const parts = images.flatMap(({ url, detail }, index) => [
    Buffer.from(`${index === 0 ? ',"content_parts":[' : ','}{"type":"image_url","url":"`),
    Buffer.from(url, 'latin1'),
    Buffer.from(detail === undefined ? '"}' : `","detail":"${detail}"}`),
  ]);
  return [...parts, Buffer.from(']')];
}

/** The same bytes in fewer pieces: runs of small ones become one, large ones stay as they are. */
function joinSmall(pieces: readonly Buffer[]): Buffer[] {
  const joined: Buffer[] = [];
  let run: Buffer[] = [];
  const endRun = () => {
    if (run.length > 0) joined.push(Buffer.concat(run));
    run = [];
  };
  for (const piece of pieces) {
    if (piece.length >= SMALL_PIECE_BYTES) {
      endRun();
      joined.push(piece);
    } else run.push(piece);
  }
  endRun();
  return joined;
}

/**
 * Everything that one read brought, as one chunk: what follows is done once per chunk, not once per token. An error
 * among the events comes beside what was sampled before it, which is not lost.
 */
function readEvents(
  events: readonly string[],
  vocabularySize = Infinity,
): { chunk: EngineChunk; failure: ApiError | undefined } {
  const ids: number[] = [];
  let finish: EngineChunk['finish'];
  let usage: EngineChunk['usage'];
  let failure: ApiError | undefined;
  try {
    for (const data of events) {
      if (data === END_OF_STREAM) continue;
      const chunk = chunkOf(parseEvent(data), vocabularySize);
      for (const id of chunk.ids) ids.push(id);
      finish = chunk.finish ?? finish;
      usage = chunk.usage ?? usage;
    }
  } catch (thrown) {
    failure = thrown instanceof ApiError ? thrown : unreadable();
  }
  return { chunk: { ids, finish, usage }, failure };
}

/** The error of an answer that is no stream. Some engines and proxies put an error object into a 200. */
function errorOfAnswer(status: number, text: string): ApiError {
  return status === 200 ? (readEvents([text]).failure ?? unreadable()) : errorOfBody(status, text);
}

/** An answer that says nothing we know. What it was stays out of the error: it may quote the output. */
function unreadable(): ApiError {
  return new ApiError('engine_error', { message: 'The inference engine sent an unreadable answer.' });
}

/** The first event repeats the whole prompt, which is ours already and would be parsed for nothing. */
const PROMPT_ECHO = '"prompt_token_ids":[';

function parseEvent(data: string): CompletionEvent {
  const echo = data.indexOf(PROMPT_ECHO);
  const text =
    echo === -1 ? data : data.slice(0, echo + PROMPT_ECHO.length) + data.slice(data.indexOf(']', echo));
  return JSON.parse(text) as CompletionEvent;
}

async function readStart(body: Dispatcher.ResponseData['body'], limit: number): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of body) {
    parts.push(part as Buffer);
    length += (part as Buffer).length;
    if (length >= limit) break;
  }
  return Buffer.concat(parts).toString('utf8');
}
