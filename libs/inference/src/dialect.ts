import type { FinishReason } from '@turnpike/formats';
import type { EngineCapabilities, EngineChunk, GenerateRequest } from './engine-client.js';
import type { Fields } from './read-values.js';

/** How one kind of server is asked, in token ids, and how its answers are read. */
export interface Dialect {
  readonly capabilities: EngineCapabilities;
  /** Path of the request. */
  readonly path: string;
  /** The field of the body that takes the prompt's ids. */
  readonly promptField: string;
  /** All other fields of the body. @param id names this request, for {@link abort} */
  settings(request: GenerateRequest, id: string): Record<string, unknown>;
  /** Reads the events of one answer, in their order. */
  reader(request: GenerateRequest): EventReader;
  /** A request that ends another. */
  readonly abort?: { readonly path: string; body(id: string): unknown };
}

export interface EventReader {
  /** @throws ApiError when the event is an error, or its ids are none */
  read(event: Fields): EngineChunk;
  /**
   * How an output ended whose stream did not say so; undefined where that is an error.
   * @param failed true when an error came instead of an end
   */
  endOf?(failed: boolean): FinishReason | undefined;
}

/** Reasons other than these are treated as a cut. */
const FINISH: Readonly<Record<string, FinishReason>> = { stop: 'stop', length: 'length', abort: 'abort' };

/** Why sampling ended, as servers with an OpenAI-like API say it. */
export function finishOf(reason: unknown): FinishReason | undefined {
  return typeof reason === 'string' ? (FINISH[reason] ?? 'abort') : undefined;
}
