import type { LaneId } from '@turnpike/turns';
import type { ResponseNode } from './node.js';
import { NodeCache } from './node-cache.js';
import type { ParentSource } from './parent.js';

/** No `stream_id` is empty, so this names the default lane. */
const DEFAULT_LANE = '';

/**
 * Responses a WebSocket connection made, in memory only: the only place a `store: false` response can be continued
 * from. The latest of each lane is kept, as OpenAI documents; older ones, which its clients cannot count on, stay
 * while the budget allows, so that they can be forked.
 */
export class ConnectionCache implements ParentSource {
  readonly #tenant: string;
  readonly #nodes: NodeCache;

  /** @param budget bytes, see {@link NodeCache} */
  constructor(tenant: string, budget: number) {
    this.#tenant = tenant;
    this.#nodes = new NodeCache(budget);
  }

  get size(): number {
    return this.#nodes.size;
  }
  get retainedBytes(): number {
    return this.#nodes.retainedBytes;
  }

  /**
   * A response that can be continued has ended in this lane, which it belongs to from now on: completed, incomplete or
   * interrupted. A failed one is never added.
   * @returns false when it is too large to keep
   * @throws Error for another tenant's response
   */
  add(node: ResponseNode, lane: LaneId): boolean {
    if (node.tenant !== this.#tenant) throw new Error('A connection keeps responses of its own tenant only.');
    return this.#nodes.add(node, lane ?? DEFAULT_LANE);
  }

  load(tenant: string, id: string): ResponseNode | undefined {
    return this.#nodes.get(tenant, id);
  }

  /** The response, which this cache then gives up: it belongs to the connection that goes on with it. */
  take(tenant: string, id: string): ResponseNode | undefined {
    const node = this.#nodes.get(tenant, id);
    if (node !== undefined) this.#nodes.evict(tenant, id);
    return node;
  }

  /**
   * A continuation of `parentId` in `lane` was refused (4xx, 5xx) or ended as failed. OpenAI's rule: in the lane the
   * parent belongs to, that evicts the parent; a fork that failed in another lane leaves it.
   * @returns whether the parent was evicted
   */
  failed(parentId: string, lane: LaneId): boolean {
    if (this.#nodes.laneOf(this.#tenant, parentId) !== (lane ?? DEFAULT_LANE)) return false;
    return this.#nodes.evict(this.#tenant, parentId);
  }

  clear(): void {
    this.#nodes.clear();
  }
}
