import type { Dialect } from '../dialect.js';
import { completionChunk } from './completion-chunk.js';

/** vLLM's `/v1/completions` with token ids in and out. Source: vllm/entrypoints/openai/completion/protocol.py. */
export const vllmCompletions: Dialect = {
  capabilities: {
    api: 'vllm /v1/completions',
    tokensIn: true,
    tokensOut: 'exact',
    stopIds: true,
    // With --enable-prompt-tokens-details.
    cachedCount: true,
    abort: false,
    grammars: ['json', 'regex', 'ebnf', 'structural_tag'],
    logprobs: true,
  },
  path: '/v1/completions',
  promptField: 'prompt',
  settings: (request, id) => ({
    // Two requests of one answer are two to the engine, which refuses a name that it has.
    request_id: request.requestId && `${request.requestId}-${id.slice(0, 8)}`,
    model: request.model,
    // Left out it would be 16.
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
  }),
  reader: ({ tokenizer }) => ({ read: (event) => completionChunk(event, tokenizer?.vocabularySize) }),
};
