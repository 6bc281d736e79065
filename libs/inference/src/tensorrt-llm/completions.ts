import type { Dialect } from '../dialect.js';
import { completionChunk } from '../vllm/completion-chunk.js';

/**
 * `trtllm-serve`'s `/v1/completions`. It refuses every field that it does not know, so the body holds nothing of other
 * servers' extensions, and no salt: prompts of tenants share its cache. Source: tensorrt_llm/serve/openai_protocol.py.
 */
export const tensorrtLlmCompletions: Dialect = {
  capabilities: {
    api: 'tensorrt-llm /v1/completions',
    tokensIn: true,
    tokensOut: 'exact',
    stopIds: true,
    cachedCount: true,
    abort: false,
    grammars: ['json', 'regex', 'ebnf', 'structural_tag'],
    logprobs: false,
  },
  path: '/v1/completions',
  promptField: 'prompt',
  settings: (request) => ({
    model: request.model,
    max_tokens: request.maxTokens,
    stop_token_ids: request.stopIds,
    temperature: request.temperature,
    top_p: request.topP,
    response_format: request.json && { type: 'json', schema: request.json },
    stream: true,
    stream_options: { include_usage: true },
    // Ids come only where no text is made of them.
    detokenize: false,
  }),
  reader: ({ tokenizer }) => ({ read: (event) => completionChunk(event, tokenizer?.vocabularySize) }),
};
