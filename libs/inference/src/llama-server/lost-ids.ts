import type { Tokenizer } from '@turnpike/formats';

export type Vocabulary = Pick<Tokenizer, 'vocabularySize' | 'encode' | 'bytes'>;

/** Longest stretch of bytes that is searched for a split; one character and its neighbours have a few. */
const MAX_BYTES = 64;

/**
 * The ids of a text whose last ones are known and whose first ones the server left out, because they end inside of a
 * character. They spell what the known ones do not; of the ways to split that, the tokenizer's own is tried first. A wrong
 * guess reads the same and costs the engine's cache hit.
 * @param missing how many were left out
 * @returns all ids, the known ones included; their number is another where no split of the right length is found
 */
export function withLostIds(
  text: string,
  known: readonly number[],
  missing: number,
  vocabulary: Vocabulary,
): readonly number[] {
  const own = vocabulary.encode(text);
  const isOwn =
    own.length === missing + known.length && known.every((id, index) => id === own[missing + index]);
  if (isOwn) return [...own];
  const bytes = Buffer.from(text);
  const end = Buffer.concat(known.map((id) => vocabulary.bytes(id)));
  const at = bytes.length - end.length;
  if (at < 0 || !bytes.subarray(at).equals(end)) return [...own];
  const front = bytes.subarray(0, at);
  const found = front.length > MAX_BYTES ? undefined : splitOf(front, missing, partialTokens(vocabulary));
  if (found !== undefined) return [...found, ...known];
  return isText(front) ? [...vocabulary.encode(front.toString()), ...known] : [...own];
}

/** A split of the bytes into this many tokens; undefined when there is none. */
function splitOf(bytes: Buffer, count: number, tokens: ReadonlyMap<string, number>): number[] | undefined {
  const key = bytes.toString('latin1');
  /** Ends of the text, by where they begin and how many tokens they would have to be, that cannot be split. */
  const dead = new Set<number>();
  const split = (from: number, left: number): number[] | undefined => {
    if (left === 0) return from === key.length ? [] : undefined;
    const place = from * (count + 1) + left;
    if (dead.has(place)) return undefined;
    for (let to = key.length - left + 1; to > from; to--) {
      const id = tokens.get(key.slice(from, to));
      const rest = id === undefined ? undefined : split(to, left - 1);
      if (id !== undefined && rest !== undefined) return [id, ...rest];
    }
    dead.add(place);
    return undefined;
  };
  return split(0, count);
}

const partials = new WeakMap<Vocabulary, ReadonlyMap<string, number>>();

/** Tokens that are no whole text, by their bytes as latin1: only these are ever left out. */
function partialTokens(vocabulary: Vocabulary): ReadonlyMap<string, number> {
  const known = partials.get(vocabulary);
  if (known !== undefined) return known;
  const tokens = new Map<string, number>();
  for (let id = 0; id < vocabulary.vocabularySize; id++) {
    const bytes = Buffer.from(vocabulary.bytes(id));
    if (bytes.length > 0 && !isText(bytes)) tokens.set(bytes.toString('latin1'), id);
  }
  partials.set(vocabulary, tokens);
  return tokens;
}

function isText(bytes: Buffer): boolean {
  return Buffer.from(bytes.toString()).equals(bytes);
}
