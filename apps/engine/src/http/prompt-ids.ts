import { RequestError } from './errors.js';

/**
 * The ids of a parsed prompt.
 * @param vocabulary ids are below this
 * @param encode makes ids of a prompt that is text
 * @throws RequestError 400 when it holds no valid ids
 */
export function promptIds(
  prompt: unknown,
  vocabulary: number,
  encode: (text: string) => Int32Array,
): Int32Array {
  if (typeof prompt === 'string' && prompt !== '') return encode(prompt);
  if (!Array.isArray(prompt) || prompt.length === 0) {
    throw new RequestError(
      400,
      'prompt must be a non-empty array of token ids, or a non-empty string',
      'prompt',
    );
  }
  const bad = prompt.findIndex((id) => !Number.isInteger(id) || id < 0 || id >= vocabulary);
  if (bad < 0) return Int32Array.from(prompt as number[]);
  const shown = JSON.stringify(prompt[bad]).slice(0, 40);
  throw new RequestError(400, `prompt[${bad}] is ${shown}, not a token id below ${vocabulary}`, 'prompt');
}
