import type { ChainNode } from './node.js';

/**
 * Which nodes are in memory because something holds them or one of their descendants, and what they weigh. Shared
 * ancestors are charged once. Holding and releasing costs no more than the nodes that become or cease to be retained.
 */
export class Retention {
  /** How many hold each retained node: holders of its own, and its retained children. */
  readonly #holders = new Map<ChainNode, number>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  hold(node: ChainNode): void {
    for (let at: ChainNode | undefined = node; at !== undefined; at = at.parent) {
      const holders = this.#holders.get(at) ?? 0;
      this.#holders.set(at, holders + 1);
      if (holders > 0) return;
      this.#bytes += at.ownBytes;
    }
  }

  release(node: ChainNode): void {
    for (let at: ChainNode | undefined = node; at !== undefined; at = at.parent) {
      const holders = this.#holders.get(at) ?? 0;
      if (holders > 1) {
        this.#holders.set(at, holders - 1);
        return;
      }
      this.#holders.delete(at);
      this.#bytes -= at.ownBytes;
    }
  }

  clear(): void {
    this.#holders.clear();
    this.#bytes = 0;
  }
}
