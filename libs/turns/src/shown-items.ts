import type { TurnItem } from './turn.js';

/** Items as stages see them. */
export interface ShownItems {
  /** Whether the first of them stands for everything before it, so that what was folded so far is forgotten. */
  readonly startsAnew: boolean;
  readonly entries: readonly TurnItem[];
}

/** Index of the last item that stands for everything before it; -1 when none does. */
export function lastStart(entries: readonly TurnItem[]): number {
  return entries.findLastIndex(({ expansion }) => expansion?.replaces === true);
}

/** These items, each sealed one as what it stands for, from the last one on that stands for everything before it. */
export function shownItems(entries: readonly TurnItem[]): ShownItems {
  const last = lastStart(entries);
  const kept = last === -1 ? entries : entries.slice(last);
  if (kept.every(({ expansion }) => expansion === undefined)) return { startsAnew: false, entries: kept };
  const shown = kept.flatMap((entry): readonly TurnItem[] =>
    entry.expansion === undefined ? [entry] : entry.expansion.items.map((item) => ({ item })),
  );
  return { startsAnew: last !== -1, entries: shown };
}
