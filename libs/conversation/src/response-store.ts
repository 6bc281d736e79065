import type { Item, ResponseObject } from '@turnpike/protocol';
import type { ResponseNode } from './node.js';
import { NodeCache } from './node-cache.js';
import type { ParentSource } from './parent.js';

/** Keeps `store: true` responses beyond their connection. */
export interface ResponseStore extends ParentSource {
  /** When it returns, the response can be read wherever the store is. */
  save(node: ResponseNode): void | Promise<void>;
  /** A response on its own; what came before it is not read. */
  find(tenant: string, id: string): StoredResponse | undefined | Promise<StoredResponse | undefined>;
  /** Items of the tenant's responses, by their own ids; those that are not found are left out. */
  findItems(tenant: string, ids: readonly string[]): Map<string, Item> | Promise<Map<string, Item>>;
  /**
   * Whether the tenant's response is kept by this process alone until it can be written to where the others are, or was when it
   * was deleted. It is no background response: those have nobody who reads them, and end when they can be written.
   */
  isOnlyHere(tenant: string, id: string): boolean;
  /** @returns whether the tenant had a response of this id */
  delete(tenant: string, id: string): boolean | Promise<boolean>;
}

/** What can be asked about a stored response. */
export interface StoredResponse {
  readonly response: ResponseObject;
  /** Items its own request brought, in their order. */
  readonly input: readonly Item[];
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

  find(tenant: string, id: string): StoredResponse | undefined {
    const node = this.#nodes.get(tenant, id);
    return node && { response: node.response, input: node.input.map(({ item }) => item) };
  }

  findItems(tenant: string, ids: readonly string[]): Map<string, Item> {
    const wanted = new Set(ids);
    const found = new Map<string, Item>();
    for (const node of this.#nodes.nodesOf(tenant)) {
      for (const { item } of [...node.input, ...node.output]) {
        if (item.id !== undefined && wanted.has(item.id)) found.set(item.id, item);
      }
    }
    return found;
  }

  save(node: ResponseNode): void {
    this.#nodes.add(node);
  }

  isOnlyHere(): boolean {
    return false;
  }

  delete(tenant: string, id: string): boolean {
    return this.#nodes.evict(tenant, id);
  }
}
