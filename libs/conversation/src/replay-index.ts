import type { TurnItem } from '@turnpike/turns';
import { historyOf, type ChainNode, type ResponseNode } from './node.js';
import { keyAfter, rootKey, sameReasoning, type ReplayKey } from './replay-key.js';
import { Retention } from './retention.js';

/** A known beginning of a conversation that was sent whole. */
export interface KnownPrefix {
  readonly node: ResponseNode;
  /** How many of the sent items it holds. */
  readonly items: number;
}

/**
 * Finds what is known of a conversation that a client sends whole: the longest beginning that is a chain of responses
 * made here. Keyed by content and tenant, in memory only, and never by an id: what is found saves work, and nobody can
 * name it.
 */
export class ReplayIndex {
  readonly #budget: number;
  readonly #retention = new Retention();
  /** Least recently used first. */
  readonly #nodes = new Map<ReplayKey, ResponseNode>();
  readonly #keys = new WeakMap<ChainNode, ReplayKey>();

  /** @param budget bytes that indexed responses and their ancestors may take; 0 switches the index off */
  constructor(budget: number) {
    this.#budget = budget;
  }

  /** Responses that can be found. */
  get size(): number {
    return this.#nodes.size;
  }

  /** Bytes of indexed responses and the ancestors they keep. */
  get retainedBytes(): number {
    return this.#retention.bytes;
  }

  /** False when nothing is ever kept. */
  get enabled(): boolean {
    return this.#budget > 0;
  }

  /**
   * Makes a response known. O(added), behind a base that is known; else O(history).
   * @param base the response that it was folded behind, and `added` the items since
   */
  add(node: ResponseNode, base: ChainNode | undefined, added: readonly TurnItem[]): void {
    if (node.chainBytes > this.#budget) return;
    const known = base && this.#keys.get(base);
    const items = known === undefined ? historyOf(node) : added;
    const key = items.reduce((before, { item }) => keyAfter(before, item), known ?? rootKey(node.tenant));
    this.#keys.set(node, key);
    this.#remove(key);
    this.#nodes.set(key, node);
    this.#retention.hold(node);
    for (const oldest of this.#nodes.keys()) {
      if (this.#retention.bytes <= this.#budget) break;
      this.#remove(oldest);
    }
  }

  /**
   * The longest known beginning of these items that leaves at least one of them to be new. O(items); what is found is
   * compared in O(history).
   * @param behind the response that the items follow; without it they are a conversation from its start
   */
  find(tenant: string, items: readonly TurnItem[], behind?: ChainNode): KnownPrefix | undefined {
    let key = behind === undefined ? rootKey(tenant) : this.#keys.get(behind);
    if (this.#nodes.size === 0 || key === undefined) return undefined;
    let found: { key: ReplayKey; known: KnownPrefix } | undefined;
    for (const [index, { item }] of items.slice(0, -1).entries()) {
      key = keyAfter(key, item);
      const node = this.#nodes.get(key);
      if (node !== undefined) found = { key, known: { node, items: index + 1 } };
    }
    if (found === undefined || !saysTheSame([...historyOf(behind), ...items], found.known)) return undefined;
    this.#nodes.delete(found.key);
    this.#nodes.set(found.key, found.known.node);
    return found.known;
  }

  #remove(key: ReplayKey): void {
    const node = this.#nodes.get(key);
    if (node === undefined) return;
    this.#nodes.delete(key);
    this.#retention.release(node);
  }
}

/** Reasoning does not count in keys: what the client brought of it is compared with what is known. */
function saysTheSame(sent: readonly TurnItem[], { node }: KnownPrefix): boolean {
  return historyOf(node).every((item, index) => {
    const other = sent[index];
    return other !== undefined && sameReasoning(other, item);
  });
}
