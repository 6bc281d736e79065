/** Length of the first block compared; blocks double from here on. */
const FIRST_BLOCK = 1024;

/**
 * Length of the common prefix of a[aStart, aEnd) and b[0, b.length). Compares natively: blocks of doubling length,
 * then the differing block is halved until the byte is found, so at most about twice the common length is read.
 */
export function commonPrefix(a: Buffer, aStart: number, aEnd: number, b: Buffer): number {
  const limit = Math.min(aEnd - aStart, b.length);
  const same = (from: number, to: number): boolean =>
    a.compare(b, from, to, aStart + from, aStart + to) === 0;
  let equal = 0;
  let block = FIRST_BLOCK;
  while (equal < limit) {
    const end = Math.min(equal + block, limit);
    if (!same(equal, end)) return firstDifference(equal, end, same);
    equal = end;
    block *= 2;
  }
  return limit;
}

/** First differing offset in [from, to), which is known to differ somewhere. */
function firstDifference(from: number, to: number, same: (from: number, to: number) => boolean): number {
  let low = from;
  let high = to;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (same(low, middle)) low = middle;
    else high = middle;
  }
  return low;
}
