import type { ConnectionCache } from './connection-cache.js';
import type { ResponseNode } from './node.js';

export interface ResumeWindowLimits {
  /** How long the responses of a lost connection can still be continued, in ms; 0 switches the window off. */
  readonly windowMs: number;
  /** Bytes that all lost connections together may keep. */
  readonly bytes: number;
}

interface Parked {
  readonly cache: ConnectionCache;
  readonly bytes: number;
  readonly timer: NodeJS.Timeout;
}

/**
 * What lost connections made, for a short while and in memory only: a client whose network failed goes on with its
 * `store: false` chain on a new connection instead of sending everything again. Over budget the oldest are forgotten.
 */
export class ResumeWindow {
  readonly #limits: ResumeWindowLimits;
  /** Oldest first. */
  readonly #parked = new Set<Parked>();
  #bytes = 0;

  constructor(limits: ResumeWindowLimits) {
    this.#limits = limits;
  }

  /** Connections kept at the moment. */
  get size(): number {
    return this.#parked.size;
  }

  /**
   * Keeps the responses of a connection that was lost; the cache belongs to the window from here on. One that has more
   * by now is kept anew.
   */
  park(cache: ConnectionCache): void {
    const { windowMs, bytes } = this.#limits;
    const before = [...this.#parked].find((parked) => parked.cache === cache);
    if (before !== undefined) this.#drop(before);
    if (windowMs === 0 || cache.size === 0 || cache.retainedBytes > bytes) return cache.clear();
    const parked: Parked = {
      cache,
      bytes: cache.retainedBytes,
      timer: setTimeout(() => this.#forget(parked), windowMs).unref(),
    };
    this.#parked.add(parked);
    this.#bytes += parked.bytes;
    for (const oldest of this.#parked) {
      if (this.#bytes <= bytes) break;
      this.#forget(oldest);
    }
  }

  /** The tenant's response of this id, which then belongs to the connection that goes on with it. */
  take(tenant: string, id: string): ResponseNode | undefined {
    for (const { cache } of this.#parked) {
      const node = cache.take(tenant, id);
      if (node !== undefined) return node;
    }
    return undefined;
  }

  /** Forgets everything. */
  clear(): void {
    for (const parked of this.#parked) this.#forget(parked);
  }

  #forget(parked: Parked): void {
    if (this.#drop(parked)) parked.cache.clear();
  }

  #drop(parked: Parked): boolean {
    clearTimeout(parked.timer);
    const was = this.#parked.delete(parked);
    if (was) this.#bytes -= parked.bytes;
    return was;
  }
}
