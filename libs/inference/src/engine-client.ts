import type { FinishReason } from '@turnpike/formats';

/** One generation, in token ids. */
export interface GenerateRequest {
  /** The model's name at the engine. */
  readonly model: string;
  /** The prompt as the bytes of a JSON array of ids, in pieces that may be shared with other prompts. */
  readonly prompt: { readonly length: number; readonly json: readonly Buffer[] };
  readonly maxTokens: number;
  readonly stopIds: readonly number[];
  /** One more than the largest id of the model's vocabulary, where that is known: the engine fails at ids beyond. */
  readonly vocabularySize?: number | undefined;
  readonly temperature: number;
  readonly topP: number;
  /** JSON Schema that everything sampled has to satisfy; only for engines with {@link EngineClient.bindsJson}. */
  readonly json?: Readonly<Record<string, unknown>> | undefined;
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
  /**
   * Samples until a stop id, the limit or `signal`. Reading is pulled: a consumer that stops reading slows the engine.
   * Ending the iteration or the signal closes the engine's request.
   * @throws ApiError engine_unavailable | server_is_overloaded | context_length_exceeded | engine_error
   */
  generate(request: GenerateRequest, signal: AbortSignal): AsyncIterable<EngineChunk>;
  /** Closes idle connections. */
  close(): Promise<void>;
}
