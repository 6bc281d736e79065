import type { Format } from '@turnpike/formats';
import type { Rendered } from './rendered.js';

/** A prompt, ready to be written into an engine's request body. */
export interface Prompt {
  /** Number of tokens. */
  readonly length: number;
  /** The ids as one JSON array, `[1,2,3]`, in pieces. Views of cached bytes: not to be written to. */
  readonly json: Buffer[];
}

const OPEN = Buffer.from('[');
const CLOSE = Buffer.from(']');

/** Tokens of {@link promptOf} with the format's plain generation prompt. */
export function promptLength({ head, body }: Rendered, { generationPrompt }: Format): number {
  return head.tokens.length + body.length + generationPrompt.length;
}

/**
 * The whole prompt: head, items, and what makes the model answer.
 * @param ending what stands behind the items, where it is more than the format's plain generation prompt
 */
export function promptOf(
  { head, body }: Rendered,
  { generationPrompt }: Format,
  ending: readonly number[] = generationPrompt,
): Prompt {
  const length = head.tokens.length + body.length + ending.length;
  const json = [OPEN, ...head.tokens.jsonChunks(), ...body.jsonChunks()];
  if (ending.length > 0) return { length, json: [...json, Buffer.from(`${ending.join(',')}]`)] };
  // Every id of a log is followed by a comma; the last one of an array is not.
  const last = length > 0 ? json.pop() : undefined;
  return { length, json: last === undefined ? [OPEN, CLOSE] : [...json, last.subarray(0, -1), CLOSE] };
}
