/** How a map differs from the one it was made from; plain JSON data. */
export interface MapChanges<V> {
  readonly set: readonly (readonly [key: string, value: V])[];
  readonly removed: readonly string[];
}

/** What {@link applyChanges} has to do to `before` to make `after` of it. O(entries), nothing when both are one map. */
export function changedEntries<V>(
  after: ReadonlyMap<string, V>,
  before: ReadonlyMap<string, V> = new Map(),
): MapChanges<V> {
  if (after === before) return { set: [], removed: [] };
  return {
    set: [...after].filter(([key, value]) => before.get(key) !== value),
    removed: [...before.keys()].filter((key) => !after.has(key)),
  };
}

/** Changes `map` in place. */
export function applyChanges<V>(map: Map<string, V>, { set, removed }: MapChanges<V>): void {
  for (const key of removed) map.delete(key);
  for (const [key, value] of set) map.set(key, value);
}
