import { PairJoins } from './joins.js';

/**
 * The joins of a list of merges, given as "a b" or ["a", "b"].
 * @param idOf ids of all tokens as the file writes them
 * @param isText whether text may become the token that a merge makes; other merges never happen
 * @throws RangeError with the number of the first merge of what is no token.
 */
export function pairJoins(
  merges: readonly (string | readonly [string, string])[],
  idOf: ReadonlyMap<string, number>,
  isText: (id: number) => boolean,
): PairJoins {
  const lefts = new Int32Array(merges.length);
  const rights = new Int32Array(merges.length);
  const made = new Int32Array(merges.length);
  for (const [rank, merge] of merges.entries()) {
    let left: string;
    let right: string;
    if (typeof merge === 'string') {
      const space = merge.indexOf(' ', 1);
      left = merge.slice(0, space);
      right = merge.slice(space + 1);
    } else [left, right] = merge;
    const ids = [idOf.get(left), idOf.get(right), idOf.get(left + right)];
    const [leftId, rightId, madeId] = ids;
    if (leftId === undefined || rightId === undefined || madeId === undefined) {
      throw new RangeError(`merge ${rank} is not of tokens`);
    }
    lefts[rank] = isText(madeId) ? leftId : -1;
    rights[rank] = rightId;
    made[rank] = madeId;
  }
  return new PairJoins(lefts, rights, made);
}
