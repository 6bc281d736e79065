import { mintId } from '@turnpike/protocol';
import type { TurnItem } from '@turnpike/turns';

/**
 * Input items, each with an id that is unique among them: a client that lists them pages by it. Ids that clients gave
 * stay, but for repeated ones.
 */
export function withItemIds(items: readonly TurnItem[]): TurnItem[] {
  const seen = new Set<string>();
  return items.map((entry) => {
    const { id } = entry.item;
    if (id !== undefined && !seen.has(id)) {
      seen.add(id);
      return entry;
    }
    return { ...entry, item: { ...entry.item, id: mintId(entry.item.type) } };
  });
}
