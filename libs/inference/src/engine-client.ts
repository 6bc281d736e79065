import type { FinishReason, Tokenizer } from '@turnpike/formats';
import type { ImageDetail } from '@turnpike/protocol';
import type { EngineUsage } from './engine-usage.js';
import type { MessageChunk, MessageRequest } from './messages.js';

/** One generation, in token ids. */
export interface GenerateRequest {
  /** The model's name at the engine. */
  readonly model: string;
  /** The prompt as the bytes of a JSON array of ids, in pieces that may be shared with other prompts. */
  readonly prompt: {
    /** Tokens, images at what they cost. */
    readonly length: number;
    readonly json: readonly Buffer[];
    /**
     * Images in the order in which the ids hold one placeholder for each, which the engine expands. Only for engines with
     * {@link EngineClient.takesImages}.
     */
    readonly images?: readonly EngineImage[] | undefined;
  };
  readonly maxTokens: number;
  readonly stopIds: readonly number[];
  /**
   * The model's vocabulary, where that is known: the engine fails at ids beyond it, and ids that an engine loses are found
   * again by it.
   */
  readonly tokenizer?: Pick<Tokenizer, 'vocabularySize' | 'encode' | 'bytes'> | undefined;
  readonly temperature: number;
  readonly topP: number;
  /** Prompts with different salts find nothing of each other in the engine's prefix cache. */
  readonly cacheSalt?: string | undefined;
  /** What the answer is for, so that an engine's own log can be compared with ours. */
  readonly requestId?: string | undefined;
  /** JSON Schema that everything sampled has to satisfy; only for engines that have the `json` grammar. */
  readonly json?: Readonly<Record<string, unknown>> | undefined;
}

/** An image as an engine gets it. */
export interface EngineImage {
  /** A data: URL in base64 that needs no escaping in JSON, as its bytes: not to be written to. */
  readonly url: Buffer;
  /** How closely the client wants it looked at; engines may ignore it. */
  readonly detail?: ImageDetail | undefined;
}

/** What arrived together from the engine. */
export interface EngineChunk {
  /** Sampled ids, the stop id included. */
  readonly ids: readonly number[];
  /** Ids that the engine sampled and never said, which cannot be found again: they count, and no more. */
  readonly lost?: number | undefined;
  readonly finish?: FinishReason | undefined;
  readonly usage?: EngineUsage | undefined;
}

/** What a server can make its sampling keep to. */
export type GrammarKind = 'json' | 'regex' | 'ebnf' | 'gbnf' | 'structural_tag';

/** What a server can do, as far as requests depend on it. */
export interface EngineCapabilities {
  /** Name of the API that it is spoken to in. */
  readonly api: string;
  /** Whether prompts are token ids. */
  readonly tokensIn: boolean;
  /** Whether the sampled ids are said: all of them, or with gaps that are filled from the text, or not at all. */
  readonly tokensOut: 'exact' | 'reconstructed' | 'none';
  /** Whether a request says which ids end sampling; if not, what comes behind one is cut off here. */
  readonly stopIds: boolean;
  /** Whether it says how much of the prompt was in its cache. */
  readonly cachedCount: boolean;
  /** Whether it has a request of its own for ending another; closing the connection ends it everywhere. */
  readonly abort: boolean;
  readonly grammars: readonly GrammarKind[];
  readonly logprobs: boolean;
}

/** An inference server. */
export interface EngineClient {
  readonly name: string;
  /** Whether it takes images beside the ids of their prompt. */
  readonly takesImages?: boolean;
  /**
   * What it can do. Found out at the first call, and again after it was gone.
   * @param signal ends the wait of this caller alone; it rejects with the reason
   * @throws ApiError engine_unavailable
   */
  capabilities(signal?: AbortSignal): Promise<EngineCapabilities>;
  /**
   * Samples until a stop id, the limit or `signal`. Reading is pulled: a consumer that stops reading slows the engine.
   * Ending the iteration or the signal ends the request at the engine.
   * @throws ApiError engine_unavailable | engine_timeout | server_is_overloaded | context_length_exceeded | engine_refused |
   *   engine_lacks_model | engine_error
   */
  generate(request: GenerateRequest, signal: AbortSignal): AsyncIterable<EngineChunk>;
  /**
   * The same for models whose prompts are messages. Not there for a client that takes token ids alone.
   * @throws as {@link generate} does
   */
  converse?(request: MessageRequest, signal: AbortSignal): AsyncIterable<MessageChunk>;
  /** Another server may be at its address by now: what it can do is found out anew. Not there where nothing is found out. */
  reprobe?(): void;
  /** Closes idle connections. */
  close(): Promise<void>;
}
