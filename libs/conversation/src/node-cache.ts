import type { ResponseNode } from './node.js';
import { Retention } from './retention.js';

interface Entry {
  readonly node: ResponseNode;
  readonly lane: string | undefined;
}

/**
 * Responses by id, within a budget of bytes.
 *
 * A cached response keeps its ancestors in memory, cached themselves or not; each is charged once, however many hold
 * it. Over budget, the least recently used response that is not the latest of its lane goes first, then the least
 * recently used latest one. Evicting a response that others continue takes away its id and frees nothing yet.
 */
export class NodeCache {
  readonly #budget: number;
  readonly #retention = new Retention();
  /** Both by id, least recently used first. */
  readonly #older = new Map<string, Entry>();
  readonly #latest = new Map<string, Entry>();
  readonly #latestIds = new Map<string, string>();

  /** @param budget bytes that cached responses and their ancestors may take */
  constructor(budget: number) {
    this.#budget = budget;
  }

  /** Responses that can be looked up. */
  get size(): number {
    return this.#older.size + this.#latest.size;
  }

  /** Bytes of cached responses and the ancestors they keep. */
  get retainedBytes(): number {
    return this.#retention.bytes;
  }

  /**
   * Caches a response, as the latest of `lane` if one is named, and evicts others until the budget holds.
   * @returns false when the response with its ancestors exceeds the budget alone: it is not cached, nothing else changes
   */
  add(node: ResponseNode, lane?: string): boolean {
    if (node.chainBytes > this.#budget) return false;
    const before = this.#latest.get(node.id) ?? this.#older.get(node.id);
    if (before !== undefined) this.#remove(before);
    this.#retention.hold(node);
    if (lane === undefined) this.#older.set(node.id, { node, lane });
    else this.#setLatest(lane, node);
    while (this.#retention.bytes > this.#budget) {
      const victim = firstBut(node.id, this.#older) ?? firstBut(node.id, this.#latest);
      if (victim === undefined) break;
      this.#remove(victim);
    }
    return true;
  }

  /** The response, now the most recently used. Another tenant's id is as unknown as one that never was. */
  get(tenant: string, id: string): ResponseNode | undefined {
    const entry = this.#entry(tenant, id);
    if (entry === undefined) return undefined;
    const entries = this.#latest.has(id) ? this.#latest : this.#older;
    entries.delete(id);
    entries.set(id, entry);
    return entry.node;
  }

  /** All cached responses of a tenant. O(size). */
  *nodesOf(tenant: string): Generator<ResponseNode> {
    for (const { node } of [...this.#older.values(), ...this.#latest.values()]) {
      if (node.tenant === tenant) yield node;
    }
  }

  /** Lane a cached response was added with. */
  laneOf(tenant: string, id: string): string | undefined {
    return this.#entry(tenant, id)?.lane;
  }

  /** @returns whether the tenant had a cached response of this id */
  evict(tenant: string, id: string): boolean {
    const entry = this.#entry(tenant, id);
    if (entry !== undefined) this.#remove(entry);
    return entry !== undefined;
  }

  clear(): void {
    this.#older.clear();
    this.#latest.clear();
    this.#latestIds.clear();
    this.#retention.clear();
  }

  #entry(tenant: string, id: string): Entry | undefined {
    const entry = this.#latest.get(id) ?? this.#older.get(id);
    return entry?.node.tenant === tenant ? entry : undefined;
  }

  #setLatest(lane: string, node: ResponseNode): void {
    const before = this.#latestIds.get(lane);
    const entry = before === undefined ? undefined : this.#latest.get(before);
    if (entry !== undefined) {
      this.#latest.delete(entry.node.id);
      this.#older.set(entry.node.id, entry);
    }
    this.#latest.set(node.id, { node, lane });
    this.#latestIds.set(lane, node.id);
  }

  #remove({ node, lane }: Entry): void {
    this.#older.delete(node.id);
    if (this.#latest.delete(node.id) && lane !== undefined) this.#latestIds.delete(lane);
    this.#retention.release(node);
  }
}

function firstBut(id: string, entries: ReadonlyMap<string, Entry>): Entry | undefined {
  for (const [key, entry] of entries) if (key !== id) return entry;
  return undefined;
}
