import { chatFunctions, chatTargets, functionName, reasoningFieldIds, type Opening } from '@turnpike/formats';
import { ChatReader, type MessageRequest } from '@turnpike/inference';
import type { ResponseRequest, TextFormat } from '@turnpike/protocol';
import type { Artifacts } from '@turnpike/turns';
import { detailField, messageParts, type MessageWords } from './message-parts.js';

const WORDS: MessageWords = {
  // `original` is not a word of this API.
  image: (detail) => ['{"url":"', `"${detailField(detail === 'original' ? 'high' : detail)}}`],
  tools: chatFunctions,
};

/**
 * A request to `/v1/chat/completions`.
 * @param maxTokens most tokens of the answer; undefined leaves them to the server, whose context only it can measure
 */
export function chatRequest(
  request: ResponseRequest,
  artifacts: Artifacts,
  opening: Opening | undefined,
  maxTokens: number | undefined,
): MessageRequest {
  const parts = messageParts(request, artifacts, opening, WORDS);
  const { tools, messages, wanted } = parts;
  const choice =
    typeof wanted === 'object' ? { type: 'function', function: { name: functionName(wanted) } } : wanted;
  return {
    api: 'chat',
    settings: {
      model: parts.engineModel,
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: maxTokens,
      ...parts.sampling,
      ...(tools.length === 0
        ? {}
        : { tool_choice: choice, parallel_tool_calls: request.parallelToolCalls ? undefined : false }),
      response_format: responseFormat(parts.answer),
      reasoning_effort: parts.effort,
    },
    lists: { tools, messages },
    reader: new ChatReader({
      targets: chatTargets(parts.callable),
      estimate: parts.estimate,
      reasoningIds: reasoningFieldIds,
      // What is said in front of a call that has to be made is no answer.
      phase: choice === undefined || choice === 'none' ? 'final_answer' : 'commentary',
    }),
  };
}

function responseFormat(format: TextFormat): unknown {
  switch (format.type) {
    case 'text':
      return undefined;
    case 'json_object':
      return { type: 'json_object' };
    case 'json_schema': {
      const { name, description, schema, strict } = format;
      return { type: 'json_schema', json_schema: { name, description, schema, strict } };
    }
  }
}
