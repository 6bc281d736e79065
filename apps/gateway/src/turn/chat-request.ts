import {
  chatFunctions,
  chatTargets,
  functionName,
  reasoningFieldIds,
  requestTexts,
  type Opening,
} from '@turnpike/formats';
import { Images, imagesOf } from '@turnpike/images';
import { ChatReader, type MessageRequest } from '@turnpike/inference';
import type { ResponseRequest, TextFormat } from '@turnpike/protocol';
import { promptChunks, Rendering, settingsOf } from '@turnpike/rendering';
import { Routing } from '@turnpike/routing';
import type { Artifacts } from '@turnpike/turns';
import { Validation } from '@turnpike/validation';
import { artifactOf } from './artifact-of.js';

/**
 * A request to `/v1/chat/completions`. Functions and messages are the bytes that the conversation has had in every turn before;
 * the rest are settings.
 * @param maxTokens most tokens of the answer; undefined leaves them to the server, whose context only it can measure
 */
export function chatRequest(
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
  const added = request.toolChoice === 'none' ? [] : chatFunctions(addedTools);
  const tools = [...functions, ...addedTexts(added, functions.length > 0)];
  const wanted = wantedTool(request, opening);
  const choice =
    typeof wanted === 'object' ? { type: 'function', function: { name: functionName(wanted) } } : wanted;
  return {
    api: 'chat',
    settings: {
      model: engineModel,
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: maxTokens,
      ...samplingOf(request),
      ...(tools.length === 0
        ? {}
        : { tool_choice: choice, parallel_tool_calls: request.parallelToolCalls ? undefined : false }),
      response_format: responseFormat(answer),
      reasoning_effort: effort,
    },
    lists: { tools, messages },
    reader: new ChatReader({
      targets: chatTargets([...request.tools, ...addedTools]),
      estimate: (text) => format.tokenizer.encode(text).length,
      reasoningIds: reasoningFieldIds,
      // What is said in front of a call that has to be made is no answer.
      phase: choice === undefined || choice === 'none' ? 'final_answer' : 'commentary',
    }),
  };
}

/** Only what differs from the default: some models take nothing else, not even the default itself. */
export function samplingOf({ temperature, topP }: ResponseRequest) {
  return { temperature: temperature === 1 ? undefined : temperature, top_p: topP === 1 ? undefined : topP };
}

function imagesIn(artifacts: Artifacts): Buffer[] {
  return imagesOf(artifactOf(artifacts, Images)).map(({ url, detail }) =>
    // `original` is not a word of this API.
    Buffer.from(JSON.stringify({ url, detail: detail === 'original' ? 'high' : detail })),
  );
}

/** Declarations of tools that joined the chain, behind those of the request. */
export function addedTexts(added: readonly string[], behindOthers: boolean): Buffer[] {
  return added.length === 0 ? [] : [Buffer.from(`${behindOthers ? ',' : ''}${added.join(',')}`)];
}

/** What the model has to call: a tool, some tool, or none; undefined leaves it to the model. */
export function wantedTool(
  { toolChoice: choice }: ResponseRequest,
  opening: Opening | undefined,
): 'none' | 'required' | { name: string; namespace?: string | undefined } | undefined {
  if (opening?.kind === 'answer') return 'none';
  if (opening?.kind === 'call') {
    const [only, ...others] = opening.targets;
    return only === undefined || others.length > 0 ? 'required' : only;
  }
  if (choice === 'required') return 'required';
  if (typeof choice === 'string') return undefined;
  if (choice.type === 'allowed_tools') {
    return (choice as { mode?: string }).mode === 'required' ? 'required' : undefined;
  }
  const { name, namespace } = choice as { name?: string; namespace?: string | undefined };
  return name === undefined ? undefined : { name, namespace };
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
