import {
  NodeCache,
  type ResponseNode,
  type ResponseStore,
  type StoredResponse,
} from '@turnpike/conversation';
import type { Item } from '@turnpike/protocol';
import type { Admit, SqlResponseStore } from './sql-response-store.js';

/** A store in a database, with or without something in front. */
export type DatabaseStore = Pick<
  SqlResponseStore,
  'load' | 'find' | 'findItems' | 'has' | 'knows' | 'isOnlyHere' | 'save' | 'saveIf' | 'delete'
>;

export interface CachedStoreOptions {
  /** Bytes of recent responses to keep in memory, see {@link NodeCache}. */
  readonly budget: number;
  /** Called when the database failed and the caller was served all the same. */
  readonly onFailure: (failure: StoreFailure) => void;
}

export interface StoreFailure {
  readonly operation: 'save' | 'check';
  readonly responseId: string;
  readonly error: unknown;
}

/**
 * A database behind the recent responses in memory, which spares it reading what this process has just made.
 *
 * A response that cannot be written is not taken from its client, who has already read it: it stays usable in this
 * process, is reported, and is written together with the next response of its chain.
 */
export class CachedResponseStore implements ResponseStore {
  readonly #store: DatabaseStore;
  readonly #recent: NodeCache;
  readonly #onFailure: CachedStoreOptions['onFailure'];

  constructor(store: DatabaseStore, { budget, onFailure }: CachedStoreOptions) {
    this.#store = store;
    this.#recent = new NodeCache(budget);
    this.#onFailure = onFailure;
  }

  async load(tenant: string, id: string): Promise<ResponseNode | undefined> {
    const recent = this.#recent.get(tenant, id);
    if (recent !== undefined) {
      if (!(await this.#isGone(recent))) return recent;
      this.#recent.evict(tenant, id);
      return undefined;
    }
    const node = await this.#store.load(tenant, id);
    if (node !== undefined) this.#recent.add(node);
    return node;
  }

  find(tenant: string, id: string): Promise<StoredResponse | undefined> {
    return this.#store.find(tenant, id);
  }

  findItems(tenant: string, ids: readonly string[]): Promise<Map<string, Item>> {
    return this.#store.findItems(tenant, ids);
  }

  async save(node: ResponseNode): Promise<void> {
    this.#recent.add(node);
    try {
      await this.#store.save(node);
    } catch (error) {
      this.#onFailure({ operation: 'save', responseId: node.id, error });
    }
  }

  /** As {@link SqlResponseStore.saveIf}: what could not be written is the caller's affair here. */
  async saveIf(node: ResponseNode, admit: Admit): Promise<boolean> {
    const saved = await this.#store.saveIf(node, admit);
    if (saved) this.#recent.add(node);
    return saved;
  }

  isOnlyHere(tenant: string, id: string): boolean {
    return this.#store.isOnlyHere(tenant, id);
  }

  async delete(tenant: string, id: string): Promise<boolean> {
    const deleted = await this.#store.delete(tenant, id);
    this.#recent.evict(tenant, id);
    return deleted;
  }

  /** Deleted through another process, or expired. What could not be written is not gone, and nobody else knows it. */
  async #isGone(node: ResponseNode): Promise<boolean> {
    if (!this.#store.knows(node)) return false;
    try {
      return !(await this.#store.has(node.tenant, node.id));
    } catch (error) {
      this.#onFailure({ operation: 'check', responseId: node.id, error });
      return false;
    }
  }
}
