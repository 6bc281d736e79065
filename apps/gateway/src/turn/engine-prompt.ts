import { Images, imagesOf, type KnownImages } from '@turnpike/images';
import type { GenerateRequest } from '@turnpike/inference';
import { promptOf, Rendering, type Rendered } from '@turnpike/rendering';
import { Routing, type Route } from '@turnpike/routing';
import type { Artifacts } from '@turnpike/turns';

/**
 * The conversation as an engine gets it. Each image counts as many tokens as it costs; the one placeholder that stands for
 * it among the ids is part of that.
 * @param artifacts of every stage
 * @param ending ids behind the items; by default what makes the model answer
 */
export function enginePrompt(artifacts: Artifacts, ending?: readonly number[]): GenerateRequest['prompt'] {
  // The pipeline has run every stage of the list.
  const { format } = artifacts.get(Routing.name) as Route;
  const images = artifacts.get(Images.name) as KnownImages;
  const prompt = promptOf(artifacts.get(Rendering.name) as Rendered, format, ending);
  if (images.count === 0) return prompt;
  return { ...prompt, length: prompt.length - images.count + images.tokens, images: imagesOf(images) };
}
