import type { Piece } from '../format.js';
import type { PendingMessage } from './messages.js';

/** A template does not write conversations so that one can go on behind what a model sampled. */
export class UnstableTemplate extends Error {}

/** Stand before what is rendered, so that a template has a conversation to write. */
export const QUESTION: PendingMessage = { role: 'user', content: 'Turnpike asks: question 5b1f.' };
export const ANSWER: PendingMessage = { role: 'assistant', content: 'Turnpike says: answer 9c3e.' };

/** How a template writes what stands between turns. */
export interface TurnEdges {
  /** Control ids that end what the assistant says. */
  readonly stops: readonly number[];
  /** From the first of them to where the next turn begins; empty where that turn's own mark ends it. */
  readonly close: readonly Piece[];
  /** What a user's turn begins with. */
  readonly userOpen: readonly Piece[];
}

/**
 * The edges, from a conversation of a question, an answer and a question.
 * @throws UnstableTemplate where control tokens do not say where turns end
 */
export function turnEdges(pieces: readonly Piece[]): TurnEdges {
  const answered = pieces.findIndex((piece) => typeof piece === 'string' && piece.includes(ANSWER.content));
  const asked = pieces.findLastIndex(
    (piece) => typeof piece === 'string' && piece.includes(QUESTION.content),
  );
  if (answered === -1 || asked <= answered)
    throw new UnstableTemplate('it does not write what was said before');
  const between = betweenTexts(pieces, answered, asked);
  const controls = between.filter((piece) => typeof piece === 'number');
  const [stop, next] = controls;
  if (stop === undefined) throw new UnstableTemplate('no control token ends what the assistant says');
  // Sampling would stop at the first of them.
  if (controls.indexOf(stop, 1) !== -1)
    throw new UnstableTemplate('the control token behind an answer stands in the same turn again');
  const start = next === undefined ? between.indexOf(stop) : between.indexOf(next, between.indexOf(stop) + 1);
  if (between.indexOf(stop) !== 0) throw new UnstableTemplate('text stands between an answer and its end');
  return { stops: [stop], close: between.slice(0, start), userOpen: between.slice(start) };
}

function betweenTexts(pieces: readonly Piece[], from: number, to: number): Piece[] {
  const after = textAround(pieces[from], ANSWER.content)[1];
  const before = textAround(pieces[to], QUESTION.content)[0];
  return [after, ...pieces.slice(from + 1, to), before].filter((piece) => piece !== '');
}

/** What stands before and behind a text in a piece. */
export function textAround(piece: Piece | undefined, text: string): [string, string] {
  if (typeof piece !== 'string') return ['', ''];
  const at = piece.lastIndexOf(text);
  return at === -1 ? [piece, ''] : [piece.slice(0, at), piece.slice(at + text.length)];
}

/** Whether pieces begin with others. */
export function startsWith(pieces: readonly Piece[], start: readonly Piece[]): boolean {
  return withoutStart(pieces, start) !== undefined;
}

/** Pieces behind others that they begin with; the last text of those may be the beginning of a longer one. */
export function withoutStart(pieces: readonly Piece[], start: readonly Piece[]): Piece[] | undefined {
  for (let index = 0; index < start.length; index++) {
    const [piece, wanted] = [pieces[index], start[index]];
    if (piece === wanted) continue;
    const isLast = index === start.length - 1;
    if (isLast && typeof piece === 'string' && typeof wanted === 'string' && piece.startsWith(wanted)) {
      return [piece.slice(wanted.length), ...pieces.slice(index + 1)];
    }
    return undefined;
  }
  return pieces.slice(start.length);
}
