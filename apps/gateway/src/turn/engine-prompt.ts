import { Images, imagesOf, urlBytes, type KnownImages } from '@turnpike/images';
import type { GenerateRequest } from '@turnpike/inference';
import { promptLength, promptOf, Rendering, type Prompt, type PromptEnding } from '@turnpike/rendering';
import { Routing } from '@turnpike/routing';
import type { Sealer } from '@turnpike/sealing';
import type { Artifacts, TurnContext } from '@turnpike/turns';
import { artifactOf } from './artifact-of.js';

/** A prompt as an engine gets it, and what it has opened of the model's first item. */
export type EnginePrompt = GenerateRequest['prompt'] & Pick<Prompt, 'opened'>;

/**
 * The conversation as an engine gets it.
 * @param artifacts of every stage
 * @param ending what stands behind the items; by default what makes the model answer
 */
export function enginePrompt(artifacts: Artifacts, ending?: PromptEnding): EnginePrompt {
  const images = artifactOf(artifacts, Images);
  const prompt = promptOf(artifactOf(artifacts, Rendering), artifactOf(artifacts, Routing).format, ending);
  if (images.count === 0) return prompt;
  const shown = imagesOf(images).map((image) => ({ url: urlBytes(image), detail: image.detail }));
  return { ...prompt, length: withImages(prompt.length, images), images: shown };
}

/** Tokens of {@link enginePrompt} with what makes the model answer. */
export function enginePromptLength(artifacts: Artifacts): number {
  const { format } = artifactOf(artifacts, Routing);
  return withImages(promptLength(artifactOf(artifacts, Rendering), format), artifactOf(artifacts, Images));
}

/** What every request to an engine has of its turn, whatever is asked. */
export function engineSettings(
  { id, request, tenant }: TurnContext,
  artifacts: Artifacts,
  sealer: Pick<Sealer, 'saltOf'>,
): Omit<GenerateRequest, 'prompt' | 'maxTokens' | 'json'> {
  const { engineModel, format } = artifactOf(artifacts, Routing);
  return {
    model: engineModel,
    stopIds: format.stopIds,
    tokenizer: format.tokenizer,
    temperature: request.temperature,
    topP: request.topP,
    cacheSalt: sealer.saltOf(tenant),
    requestId: id,
  };
}

/** Each image counts as many tokens as it costs; the one placeholder that stands for it among the ids is part of that. */
function withImages(length: number, { count, tokens }: KnownImages): number {
  return length - count + tokens;
}
