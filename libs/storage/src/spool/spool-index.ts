import { Retention, type ResponseNode } from '@turnpike/conversation';
import type { ResponseRow } from '../schema.js';

/** A response of a spool that is not in the database yet. */
export interface Waiting {
  readonly id: string;
  readonly tenant: string;
  /** Of a response that this process made and that is not deleted. */
  readonly node: ResponseNode | undefined;
  /** Whether it can be continued from the database once it is there. */
  readonly continues: boolean;
  readonly isDeleted: boolean;
}

interface Entry extends Waiting {
  readonly parentId: string | null;
  node: ResponseNode | undefined;
  isDeleted: boolean;
  /** Waiting responses that need this one: they continue it, and are not deleted or are needed themselves. */
  children: number;
}

/** What waits in a spool, by response id. */
export class SpoolIndex {
  readonly #entries = new Map<string, Entry>();
  readonly #retention = new Retention();

  /** Memory that is kept by what waits, in bytes. */
  get retainedBytes(): number {
    return this.#retention.bytes;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Nothing of another tenant's. */
  get(tenant: string, id: string): Waiting | undefined {
    const entry = this.#entries.get(id);
    return entry?.tenant === tenant ? entry : undefined;
  }

  /** Responses of a tenant that are not deleted. O(size). */
  *of(tenant: string): Generator<Waiting> {
    for (const entry of this.#entries.values()) if (entry.tenant === tenant && !entry.isDeleted) yield entry;
  }

  add({ id, tenant, parent_id: parentId }: ResponseRow, node?: ResponseNode, continues = true): void {
    if (this.#entries.has(id)) return;
    if (node !== undefined) this.#retention.hold(node);
    this.#entries.set(id, { id, tenant, parentId, node, continues, isDeleted: false, children: 0 });
    const parent = this.#parentOf(parentId);
    if (parent !== undefined) parent.children++;
  }

  delete(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.isDeleted) return;
    entry.isDeleted = true;
    if (entry.node !== undefined) this.#retention.release(entry.node);
    entry.node = undefined;
    this.#noLongerNeeded(entry);
  }

  /** Whether the database has to have it: it can be found, or something continues it that can. */
  isNeeded(id: string): boolean {
    const entry = this.#entries.get(id);
    return entry === undefined || !entry.isDeleted || entry.children > 0;
  }

  isDeleted(id: string): boolean {
    return this.#entries.get(id)?.isDeleted === true;
  }

  /** It waits no longer. One that is deleted is known until that has reached the database as well. */
  arrived(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.isDeleted) return;
    if (entry.node !== undefined) this.#retention.release(entry.node);
    this.#entries.delete(id);
  }

  /** That it was deleted has reached the database. */
  buried(id: string): void {
    this.#entries.delete(id);
  }

  #noLongerNeeded(entry: Entry): void {
    for (let at: Entry | undefined = entry; at?.isDeleted === true && at.children === 0;) {
      at = this.#parentOf(at.parentId);
      if (at !== undefined) at.children--;
    }
  }

  #parentOf(id: string | null): Entry | undefined {
    return id === null ? undefined : this.#entries.get(id);
  }
}
