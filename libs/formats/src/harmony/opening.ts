import { type Opening, type Piece } from '../format.js';
import { HARMONY } from '../tokenizer/o200k-harmony.js';
import { callHeader, headerPieces } from './message.js';
import { FUNCTIONS } from '../tools/namespaces.js';

/**
 * The beginning of the message that an opening makes the model write.
 *
 * Of several tools the header only says that one is called, and, when they share one, in which namespace. It stops
 * where every vocabulary has a seam: models know `.name`, and `=` with a name's beginning, as one token, and a prompt
 * that ends inside a token that they would have written leads them astray.
 */
export function openingPieces(opening: Opening): Piece[] {
  if (opening.kind === 'answer') return headerPieces({ author: 'assistant', channel: 'final' });
  const [only, ...others] = opening.targets;
  if (only !== undefined && others.length === 0) return headerPieces(callHeader(only));
  const namespaces = new Set(opening.targets.map(({ namespace }) => namespace ?? FUNCTIONS));
  const [first] = namespaces;
  return [HARMONY.start, 'assistant', namespaces.size === 1 ? ` to=${first}` : ' to'];
}
