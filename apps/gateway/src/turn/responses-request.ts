import {
  chatTargets,
  functionName,
  requestTexts,
  responsesTools,
  sealedItemIds,
  type Opening,
} from '@turnpike/formats';
import { Images, imagesOf } from '@turnpike/images';
import { ResponsesReader, type MessageRequest } from '@turnpike/inference';
import type { ResponseRequest } from '@turnpike/protocol';
import { promptChunks, Rendering, settingsOf } from '@turnpike/rendering';
import { Routing } from '@turnpike/routing';
import type { Artifacts } from '@turnpike/turns';
import { Validation } from '@turnpike/validation';
import { artifactOf } from './artifact-of.js';
import { addedTexts, samplingOf, wantedTool } from './chat-request.js';

/**
 * A request to another server's `/v1/responses`. It keeps nothing: the conversation is ours, and sent whole, in the same bytes as
 * in every turn before.
 * @param maxTokens most tokens of the answer; undefined leaves them to the server
 */
export function responsesRequest(
  request: ResponseRequest,
  artifacts: Artifacts,
  opening: Opening | undefined,
  maxTokens: number | undefined,
): MessageRequest {
  const { engineModel, format } = artifactOf(artifacts, Routing);
  const rendered = artifactOf(artifacts, Rendering);
  const { addedTools } = artifactOf(artifacts, Validation);
  const { effort, format: answer } = settingsOf(request, rendered.settings);
  const { functions, messages } = requestTexts(promptChunks(rendered), imagesIn(artifacts));
  const added = request.toolChoice === 'none' ? [] : responsesTools(addedTools);
  const tools = [...functions, ...addedTexts(added, functions.length > 0)];
  const wanted = wantedTool(request, opening);
  const choice = typeof wanted === 'object' ? { type: 'function', name: functionName(wanted) } : wanted;
  return {
    api: 'responses',
    settings: {
      model: engineModel,
      stream: true,
      store: false,
      include: ['reasoning.encrypted_content'],
      instructions: request.instructions,
      max_output_tokens: maxTokens,
      ...samplingOf(request),
      ...(tools.length === 0
        ? {}
        : { tool_choice: choice, parallel_tool_calls: request.parallelToolCalls ? undefined : false }),
      text: answer.type === 'text' ? undefined : { format: answer },
      reasoning: reasoningOf(effort, request.reasoning.summary),
      prompt_cache_key: request.promptCacheKey,
    },
    lists: { tools, input: messages },
    reader: new ResponsesReader({
      targets: chatTargets([...request.tools, ...addedTools]),
      estimate: (text) => format.tokenizer.encode(text).length,
      sealedIds: sealedItemIds,
    }),
  };
}

function reasoningOf(effort: string | undefined, summary: string | undefined) {
  return effort === undefined && summary === undefined ? undefined : { effort, summary };
}

/** Each as the URL of its part, with what follows it there. */
function imagesIn(artifacts: Artifacts): Buffer[] {
  return imagesOf(artifactOf(artifacts, Images)).map(({ url, detail }) => {
    const seen = detail === undefined ? '' : `,"detail":${JSON.stringify(detail)}`;
    return Buffer.from(`${JSON.stringify(url)}${seen}`);
  });
}
