import type { Piece } from '../format.js';

/** The marks around reasoning. */
export interface ThinkMarks {
  readonly begin: number;
  readonly end: number;
}

/** Where the first reasoning of a run begins and ends: indices of its marks; undefined without one that begins. */
function marksIn(
  run: ArrayLike<Piece>,
  { begin, end }: ThinkMarks,
): [begin: number, end: number] | undefined {
  let from = -1;
  for (let at = 0; at < run.length; at++) {
    if (run[at] === begin && from === -1) from = at;
    else if (run[at] === end && from !== -1) return [from, at];
  }
  return from === -1 ? undefined : [from, run.length];
}

/** Everything from the mark that begins reasoning on; for families that show none of it in finished turns. */
export function wholeSpan(run: ArrayLike<Piece>, marks: ThinkMarks): readonly [number, number] {
  const found = marksIn(run, marks);
  return found === undefined ? [run.length, run.length] : [found[0], run.length];
}

/** What stands between the marks; for families that keep both. */
export function innerSpan(run: ArrayLike<Piece>, marks: ThinkMarks): readonly [number, number] {
  const found = marksIn(run, marks);
  return found === undefined ? [run.length, run.length] : [found[0] + 1, found[1]];
}

/** From the mark that begins it to before the one that ends it; for families that keep the latter. */
export function openingSpan(run: ArrayLike<Piece>, marks: ThinkMarks): readonly [number, number] {
  const found = marksIn(run, marks);
  return found === undefined ? [run.length, run.length] : [found[0], found[1]];
}
