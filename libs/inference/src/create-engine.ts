import { ApiError } from '@turnpike/protocol';
import type { EngineClient } from './engine-client.js';
import { MessageClient, PATHS } from './message-client.js';
import type { MessageRequest } from './messages.js';
import { TokenEngine } from './token-engine.js';
import { EngineHttp } from './transport/engine-http.js';

/** What an engine can be configured as; `auto` asks it. */
export const ENGINE_KINDS = [
  'auto',
  'vllm',
  'sglang',
  'llama-server',
  'tensorrt-llm',
  'chat',
  'responses',
] as const;
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
  /** Told of the API that a server which takes token ids is spoken to in, each time that is found out. */
  readonly onApi?: ((api: string) => void) | undefined;
}

/** A client for an inference server. Nothing is sent before the first request. */
export function createEngine(options: EngineOptions): EngineClient {
  const { name, url, idleTimeoutMs, kind = 'auto', apiKey, headers = {}, structuredOutputs = true } = options;
  const authorization = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const http = new EngineHttp({ url, idleTimeoutMs, headers: { ...authorization, ...headers } });
  const messages = new MessageClient(http);
  const shared = {
    name,
    converse: (request: MessageRequest, signal: AbortSignal) => messages.converse(request, signal),
    close: () => http.close(),
  };
  if (kind === 'chat' || kind === 'responses') {
    const capabilities = { ...MESSAGES_ONLY, api: PATHS[kind], cachedCount: true };
    return {
      ...shared,
      takesImages: true,
      capabilities: () => Promise.resolve(capabilities),
      generate: () => {
        throw new ApiError('engine_error', { cause: new Error(`engine '${name}' takes no token ids`) });
      },
    };
  }
  const tokens = new TokenEngine({ name, http, kind, structuredOutputs, onApi: options.onApi });
  return {
    ...shared,
    takesImages: options.images === 'content_parts',
    capabilities: (signal) => tokens.capabilities(signal),
    generate: (request, signal) => tokens.generate(request, signal),
    reprobe: () => tokens.reprobe(),
  };
}

const MESSAGES_ONLY = {
  tokensIn: false,
  tokensOut: 'none',
  stopIds: false,
  abort: false,
  grammars: [],
  logprobs: false,
} as const;
