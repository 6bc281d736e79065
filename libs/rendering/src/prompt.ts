import type { Format, Opening, Place } from '@turnpike/formats';
import { takenOver, type WrittenItem } from './item-runs.js';
import type { Rendered } from './rendered.js';

/** A prompt, ready to be written into an engine's request body. */
export interface Prompt {
  /** Number of tokens. */
  readonly length: number;
  /** The ids as one JSON array, `[1,2,3]`, in pieces. Views of cached bytes: not to be written to. */
  readonly json: Buffer[];
  /** The last ids of it, which begin the model's first item; a parser of the output is to know them. */
  readonly opened: readonly number[];
}

/** What stands behind the items of a prompt. */
export interface PromptEnding {
  /** Items that the model has written since. */
  readonly written?: readonly WrittenItem[] | undefined;
  /** What the model is made to go on with. */
  readonly opening?: Opening | undefined;
}

const OPEN = Buffer.from('[');
const CLOSE = Buffer.from(']');

/** Tokens of {@link promptOf} with nothing behind the items. */
export function promptLength({ head, body, end }: Rendered, format: Format): number {
  const opened = format.generationPrompt(end.place, head.key.effort);
  return head.tokens.length + body.length + end.closing.length + opened.length;
}

/** The whole prompt: head, items, what closes them, and what makes the model answer. */
export function promptOf(
  rendered: Rendered,
  format: Format,
  { written = [], opening }: PromptEnding = {},
): Prompt {
  const { head, body } = rendered;
  const { ids, place } = writtenBehind(rendered, format, written);
  const opened = format.generationPrompt(place, head.key.effort, opening);
  const ending = [...ids, ...opened];
  const length = head.tokens.length + body.length + ending.length;
  const json = [OPEN, ...head.tokens.jsonChunks(), ...body.jsonChunks()];
  if (ending.length > 0) {
    json.push(Buffer.from(`${ending.join(',')}]`));
    return { length, json, opened };
  }
  // Every id of a log is followed by a comma; the last one of an array is not.
  const last = length > 0 ? json.pop() : undefined;
  const closed = last === undefined ? [OPEN, CLOSE] : [...json, last.subarray(0, -1), CLOSE];
  return { length, json: closed, opened };
}

/** The ids of head, items and what closes them, in views of the log's own memory: for formats whose prompts are text. */
export function promptChunks({ head, body, end }: Rendered): Int32Array[] {
  return [...head.tokens.idChunks(), ...body.idChunks(), end.closing];
}

/** The ids of what was written behind the items, closed, and where that leaves off. */
function writtenBehind({ end }: Rendered, format: Format, written: readonly WrittenItem[]) {
  const ids: number[] = [];
  let place: Place = end.place;
  let closing: ArrayLike<number> = end.closing;
  for (const each of written) {
    const taken = takenOver(each, place, format);
    if (taken?.closes === true) append(ids, closing);
    append(ids, each.ids);
    if (taken === undefined || taken.place === place) continue;
    place = taken.place;
    closing = encodedPieces(format.closing(place), format);
  }
  append(ids, closing);
  return { ids, place };
}

function append(ids: number[], more: ArrayLike<number>): void {
  for (let at = 0; at < more.length; at++) ids.push(more[at] as number);
}

/** What closes an item that was sampled is short: nothing of its text is held back. */
function encodedPieces(pieces: ReturnType<Format['closing']>, { tokenizer }: Format): number[] {
  return pieces.flatMap((piece) => (typeof piece === 'number' ? [piece] : [...tokenizer.encode(piece)]));
}
