import type { FinishReason } from '@turnpike/formats';
import type { ImageDetail } from '@turnpike/protocol';

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
  /** One more than the largest id of the model's vocabulary, where that is known: the engine fails at ids beyond. */
  readonly vocabularySize?: number | undefined;
  readonly temperature: number;
  readonly topP: number;
  /** Prompts with different salts find nothing of each other in the engine's prefix cache. */
  readonly cacheSalt?: string | undefined;
  /** JSON Schema that everything sampled has to satisfy; only for engines with {@link EngineClient.bindsJson}. */
  readonly json?: Readonly<Record<string, unknown>> | undefined;
}

/** An image as an engine gets it. */
export interface EngineImage {
  /** A data: URL in base64 that needs no escaping in JSON. */
  readonly url: string;
  /** How closely the client wants it looked at; engines may ignore it. */
  readonly detail?: ImageDetail | undefined;
}

/** What arrived together from the engine. */
export interface EngineChunk {
  /** Sampled ids, the stop id included. */
  readonly ids: readonly number[];
  readonly finish?: FinishReason | undefined;
  readonly usage?: EngineUsage | undefined;
}

/** Counts as the engine reports them; undefined where it does not. */
export interface EngineUsage {
  readonly promptTokens?: number | undefined;
  readonly cachedTokens?: number | undefined;
  readonly completionTokens?: number | undefined;
}

/** An inference server that takes and gives token ids. */
export interface EngineClient {
  readonly name: string;
  /** Whether it can be made to sample nothing but JSON of a schema. */
  readonly bindsJson?: boolean;
  /** Whether it takes images beside the ids of their prompt. */
  readonly takesImages?: boolean;
  /**
   * Samples until a stop id, the limit or `signal`. Reading is pulled: a consumer that stops reading slows the engine.
   * Ending the iteration or the signal closes the engine's request.
   * @throws ApiError engine_unavailable | server_is_overloaded | context_length_exceeded | engine_error
   */
  generate(request: GenerateRequest, signal: AbortSignal): AsyncIterable<EngineChunk>;
  /** Closes idle connections. */
  close(): Promise<void>;
}
