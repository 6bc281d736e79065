import { createHash } from 'node:crypto';
import type { Turn } from '@turnpike/turns';

/** What of a turn says how its chain begins. */
export type ChainBeginning = Pick<Turn, 'tenant' | 'request' | 'items' | 'history'>;

/** Characters of one string that count, with its length: a first item may hold megabytes of an image. */
const MOST_CHARACTERS = 4_096;

/**
 * What the prompts of a chain begin with, as a short name: its tenant, since engines cache prompts of tenants apart, what
 * stands in the head, and the first item. Chains of one name share the beginning that an engine may have in its cache.
 *
 * Only what begins a chain counts, so that every turn of it has the same name, whichever gateway asks. O(history) with a
 * parent: for chains that need a route anew.
 */
export function affinityOf(turn: ChainBeginning): string {
  const { tenant, request, items } = turn;
  const first = (turn.history()[0] ?? items[0])?.item;
  // An id is minted for each request; the prompt does not hold it.
  const shown = first === undefined ? null : { ...first, id: undefined };
  return createHash('sha256')
    .update(JSON.stringify([tenant, request.instructions ?? null, request.toolsKey, shown], shortened))
    .digest('base64');
}

function shortened(_: string, value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= MOST_CHARACTERS) return value;
  return [value.length, value.slice(0, MOST_CHARACTERS)];
}

/**
 * How much a replica attracts chains of this name: weighted rendezvous hashing. The replica with the highest score wins; when one
 * comes or goes only the chains move that it gains or loses, and over all names each wins in proportion to its weight.
 */
export function attraction(affinity: string, replica: string, weight: number): number {
  const hash = createHash('sha256').update(`${affinity}\n${replica}`).digest();
  // In (0, 1): the 48 bits that a double holds exactly, and a half.
  const uniform = (hash.readUIntBE(0, 6) + 0.5) / 2 ** 48;
  return -weight / Math.log(uniform);
}
