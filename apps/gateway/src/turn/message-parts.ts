import { requestTexts, type Opening } from '@turnpike/formats';
import { Images, imagesOf, urlBytes } from '@turnpike/images';
import type { ImageDetail, ResponseRequest, Tool } from '@turnpike/protocol';
import { promptChunks, Rendering, settingsOf } from '@turnpike/rendering';
import { Routing } from '@turnpike/routing';
import type { Artifacts } from '@turnpike/turns';
import { Validation } from '@turnpike/validation';
import { artifactOf } from './artifact-of.js';

/** What one API has in words of its own. */
export interface MessageWords {
  /** JSON text of an image before and behind the bytes of its URL, as it stands in a message. */
  image(detail: ImageDetail | undefined): readonly [before: string, behind: string];
  /** JSON texts of the declarations of tools. */
  tools(tools: readonly Tool[]): string[];
}

/**
 * What requests of messages are made of, whichever their API: functions and messages are the bytes that the conversation has had
 * in every turn before.
 */
export function messageParts(
  request: ResponseRequest,
  artifacts: Artifacts,
  opening: Opening | undefined,
  words: MessageWords,
) {
  const { engineModel, format } = artifactOf(artifacts, Routing);
  const rendered = artifactOf(artifacts, Rendering);
  const { addedTools } = artifactOf(artifacts, Validation);
  const { effort, format: answer } = settingsOf(request, rendered.settings);
  const images = imagesOf(artifactOf(artifacts, Images)).map((image) => {
    const [before, behind] = words.image(image.detail);
    return [Buffer.from(before), urlBytes(image), Buffer.from(behind)];
  });
  const { functions, messages } = requestTexts(promptChunks(rendered), images);
  const added = request.toolChoice === 'none' ? [] : words.tools(addedTools);
  return {
    engineModel,
    effort,
    answer,
    tools: [...functions, ...addedTexts(added, functions.length > 0)],
    messages,
    /** Every tool that may be called. */
    callable: [...request.tools, ...addedTools],
    wanted: wantedTool(request, opening),
    estimate: (text: string) => format.tokenizer.encode(text).length,
    /** Only what differs from the default: some models take nothing else, not even the default itself. */
    sampling: {
      temperature: request.temperature === 1 ? undefined : request.temperature,
      top_p: request.topP === 1 ? undefined : request.topP,
    },
  };
}

/** How closely an image is to be looked at, as a field behind others. */
export function detailField(detail: ImageDetail | undefined): string {
  return detail === undefined ? '' : `,"detail":"${detail}"`;
}

/** Declarations of tools that joined the chain, behind those of the request. */
function addedTexts(added: readonly string[], behindOthers: boolean): Buffer[] {
  return added.length === 0 ? [] : [Buffer.from(`${behindOthers ? ',' : ''}${added.join(',')}`)];
}

/** What the model has to call: a tool, some tool, or none; undefined leaves it to the model. */
function wantedTool(
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
