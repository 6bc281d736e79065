import { chatTargets, functionName, responsesTools, sealedItemIds, type Opening } from '@turnpike/formats';
import { ResponsesReader, type MessageRequest } from '@turnpike/inference';
import type { ResponseRequest } from '@turnpike/protocol';
import type { Artifacts } from '@turnpike/turns';
import { detailField, messageParts, type MessageWords } from './message-parts.js';

const WORDS: MessageWords = {
  // The URL of its part, with what follows it there.
  image: (detail) => ['"', `"${detailField(detail)}`],
  tools: responsesTools,
};

/**
 * A request to another server's `/v1/responses`. It keeps nothing: the conversation is ours, and sent whole.
 * @param maxTokens most tokens of the answer; undefined leaves them to the server
 */
export function responsesRequest(
  request: ResponseRequest,
  artifacts: Artifacts,
  opening: Opening | undefined,
  maxTokens: number | undefined,
): MessageRequest {
  const parts = messageParts(request, artifacts, opening, WORDS);
  const { tools, messages, wanted, answer } = parts;
  const choice = typeof wanted === 'object' ? { type: 'function', name: functionName(wanted) } : wanted;
  return {
    api: 'responses',
    settings: {
      model: parts.engineModel,
      stream: true,
      store: false,
      include: ['reasoning.encrypted_content'],
      instructions: request.instructions,
      max_output_tokens: maxTokens,
      ...parts.sampling,
      ...(tools.length === 0
        ? {}
        : { tool_choice: choice, parallel_tool_calls: request.parallelToolCalls ? undefined : false }),
      text: answer.type === 'text' ? undefined : { format: answer },
      reasoning: reasoningOf(parts.effort, request.reasoning.summary),
      prompt_cache_key: request.promptCacheKey,
    },
    lists: { tools, input: messages },
    reader: new ResponsesReader({
      targets: chatTargets(parts.callable),
      estimate: parts.estimate,
      sealedIds: sealedItemIds,
    }),
  };
}

function reasoningOf(effort: string | undefined, summary: string | undefined) {
  return effort === undefined && summary === undefined ? undefined : { effort, summary };
}
