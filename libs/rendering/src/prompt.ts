import type { Format } from '@turnpike/formats';
import { takenOver } from './item-runs.js';
import type { Rendered } from './rendered.js';

/** A prompt, ready to be written into an engine's request body. */
export interface Prompt {
  /** Number of tokens. */
  readonly length: number;
  /** The ids as one JSON array, `[1,2,3]`, in pieces. Views of cached bytes: not to be written to. */
  readonly json: Buffer[];
}

/** What stands behind the items of a prompt. */
export interface PromptEnding {
  /** Ids of items that the model has written since, each by itself. */
  readonly written?: readonly Int32Array[] | undefined;
  /** What makes the model answer; by default the format's plain generation prompt for the effort of the head. */
  readonly opened?: readonly number[] | undefined;
}

const OPEN = Buffer.from('[');
const CLOSE = Buffer.from(']');

/** Tokens of {@link promptOf} with the format's plain generation prompt. */
export function promptLength({ head, body, end }: Rendered, format: Format): number {
  const opened = format.generationPrompt(head.key.effort);
  return head.tokens.length + body.length + end.closing.length + opened.length;
}

/** The whole prompt: head, items, what closes them, and what makes the model answer. */
export function promptOf(
  rendered: Rendered,
  format: Format,
  { written = [], opened = format.generationPrompt(rendered.head.key.effort) }: PromptEnding = {},
): Prompt {
  const { head, body } = rendered;
  const ending = [...idsBehind(rendered, format, written), ...opened];
  const length = head.tokens.length + body.length + ending.length;
  const json = [OPEN, ...head.tokens.jsonChunks(), ...body.jsonChunks()];
  if (ending.length > 0) return { length, json: [...json, Buffer.from(`${ending.join(',')}]`)] };
  // Every id of a log is followed by a comma; the last one of an array is not.
  const last = length > 0 ? json.pop() : undefined;
  return { length, json: last === undefined ? [OPEN, CLOSE] : [...json, last.subarray(0, -1), CLOSE] };
}

/** What was written behind the items, closed. */
function idsBehind({ end }: Rendered, format: Format, written: readonly Int32Array[]): number[] {
  const ids: number[] = [];
  let { place, closing } = end;
  for (const item of written) {
    const taken = takenOver(item, place, format);
    if (taken?.closes === true) for (const id of closing) ids.push(id);
    for (const id of item) ids.push(id);
    if (taken === undefined || taken.place === place) continue;
    place = taken.place;
    closing = Int32Array.from(encodedPieces(format.closing(place), format));
  }
  for (const id of closing) ids.push(id);
  return ids;
}

/** What closes an item that was sampled is short: nothing of its text is held back. */
function encodedPieces(pieces: ReturnType<Format['closing']>, { tokenizer }: Format): number[] {
  return pieces.flatMap((piece) => (typeof piece === 'number' ? [piece] : [...tokenizer.encode(piece)]));
}
