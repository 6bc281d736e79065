import type { AssembledItem } from '@turnpike/assembly';
import type { Format } from '@turnpike/formats';
import type { TurnItem } from '@turnpike/turns';

/** Items of an output as they are folded: with the ids that were sampled for them, where there are any. */
export function writtenItems(items: readonly AssembledItem[], { name }: Pick<Format, 'name'>): TurnItem[] {
  return items.map(({ item, ids }) =>
    ids === undefined ? { item } : { item, sampled: { format: name, ids } },
  );
}
