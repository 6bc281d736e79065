import type { ResponseNode } from './node.js';
import { NodeCache } from './node-cache.js';
import type { ParentSource } from './parent.js';

/** Keeps `store: true` responses beyond their connection. */
export interface ResponseStore extends ParentSource {
  save(node: ResponseNode): void | Promise<void>;
  /** @returns whether the tenant had a response of this id */
  delete(tenant: string, id: string): boolean | Promise<boolean>;
}

/**
 * The store of a single process: within a budget of bytes it keeps the most recently used responses and forgets the
 * rest. Nothing survives a restart.
 */
export class MemoryResponseStore implements ResponseStore {
  readonly #nodes: NodeCache;

  /** @param budget bytes, see {@link NodeCache} */
  constructor(budget: number) {
    this.#nodes = new NodeCache(budget);
  }

  load(tenant: string, id: string): ResponseNode | undefined {
    return this.#nodes.get(tenant, id);
  }

  save(node: ResponseNode): void {
    this.#nodes.add(node);
  }

  delete(tenant: string, id: string): boolean {
    return this.#nodes.evict(tenant, id);
  }
}
