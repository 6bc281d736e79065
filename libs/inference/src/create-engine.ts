import type { EngineClient } from './engine-client.js';
import type { TokenKind } from './probe.js';
import { TokenEngine } from './token-engine.js';

/** What an engine can be configured as; `auto` asks it. */
export const ENGINE_KINDS = ['auto', 'vllm', 'sglang', 'llama-server', 'tensorrt-llm'] as const satisfies (
  TokenKind | 'auto'
)[];
export type EngineKind = (typeof ENGINE_KINDS)[number];

export interface EngineOptions {
  readonly name: string;
  /** Base URL of the server, without `/v1`. */
  readonly url: string;
  /** By default `auto`. */
  readonly kind?: EngineKind | undefined;
  /** Sent as a bearer token. */
  readonly apiKey?: string | undefined;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Longest wait for the first byte and between bytes, in ms: long prefills are silent. */
  readonly idleTimeoutMs: number;
  /** Whether answers are bound to a schema where the server can do that; by default they are. */
  readonly structuredOutputs?: boolean | undefined;
  /** How a server that takes token ids takes images: as `content_parts`, or not at all. */
  readonly images?: 'none' | 'content_parts' | undefined;
}

/** A client for an inference server. Nothing is sent before the first request. */
export function createEngine(options: EngineOptions): EngineClient {
  const { apiKey, headers = {} } = options;
  const authorization = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  return new TokenEngine({
    name: options.name,
    url: options.url,
    kind: options.kind ?? 'auto',
    headers: { ...authorization, ...headers },
    idleTimeoutMs: options.idleTimeoutMs,
    structuredOutputs: options.structuredOutputs ?? true,
    images: options.images === 'content_parts',
  });
}
