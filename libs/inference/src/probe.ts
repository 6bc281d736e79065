import { ApiError } from '@turnpike/protocol';
import type { Dialect } from './dialect.js';
import { errorOfBody } from './engine-errors.js';
import { llamaServerCompletion } from './llama-server/completion.js';
import { fieldsOf } from './read-values.js';
import { sglangGenerate } from './sglang/generate.js';
import { tensorrtLlmCompletions } from './tensorrt-llm/completions.js';
import { readText } from './transport/read-text.js';
import type { EngineHttp } from './transport/engine-http.js';
import { vllmCompletions } from './vllm/completions.js';
import { vllmGenerate } from './vllm/generate.js';

/** Servers that take token ids. */
export type TokenKind = 'vllm' | 'sglang' | 'llama-server' | 'tensorrt-llm';

/** Who says in its list of models that it owns them. Each server names itself there; `turnpike` is the built-in engine. */
const OWNERS: Readonly<Record<string, TokenKind>> = {
  vllm: 'vllm',
  turnpike: 'vllm',
  sglang: 'sglang',
  llamacpp: 'llama-server',
  tensorrt_llm: 'tensorrt-llm',
};

/** Most bytes of a list of models that are read. */
const MAX_LIST_BYTES = 1024 * 1024;

/**
 * What kind of server this is, by its `/v1/models`.
 * @returns undefined for one that is spoken to in messages, or that cannot be told
 * @throws the error of a connection that failed; ApiError for a server that does not let us ask
 */
export async function detectKind(http: EngineHttp, signal: AbortSignal): Promise<TokenKind | undefined> {
  const answer = await http.get('/v1/models', signal);
  const text = await readText(answer.body, MAX_LIST_BYTES);
  if (answer.status !== 200) {
    const error = errorOfBody(answer.status, '', answer.headers['retry-after']);
    // Every request would be refused like that, so it is the engine's fault, whatever the status blames.
    throw error.code === 'engine_refused' ? new ApiError('engine_error', { cause: error.cause }) : error;
  }
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { data } = fieldsOf(list);
  const owner = fieldsOf(Array.isArray(data) ? data[0] : undefined)['owned_by'];
  return typeof owner === 'string' && takesTokens(owner) ? OWNERS[owner] : undefined;
}

/** Whether a server that names this owner in its list of models takes token ids. */
export function takesTokens(owner: string): boolean {
  return Object.hasOwn(OWNERS, owner);
}

/**
 * How a server of this kind is spoken to.
 * @throws the error of a connection that failed
 */
export async function dialectOf(kind: TokenKind, http: EngineHttp, signal: AbortSignal): Promise<Dialect> {
  switch (kind) {
    case 'vllm':
      return (await hasRoute(http, vllmGenerate.path, signal)) ? vllmGenerate : vllmCompletions;
    case 'sglang':
      return sglangGenerate;
    case 'llama-server':
      return llamaServerCompletion;
    case 'tensorrt-llm':
      return tensorrtLlmCompletions;
  }
}

/** Whether there is a route for POST: asked by GET, which samples nothing, it says that the method is not the right one. */
async function hasRoute(http: EngineHttp, path: string, signal: AbortSignal): Promise<boolean> {
  const answer = await http.get(path, signal);
  await readText(answer.body, MAX_LIST_BYTES);
  return answer.status === 405;
}
