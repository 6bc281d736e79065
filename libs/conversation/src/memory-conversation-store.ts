import type { Item } from '@turnpike/protocol';
import type { TurnItem } from '@turnpike/turns';
import type {
  Conversation,
  ConversationState,
  ConversationStore,
  ConversationTurn,
  ItemPage,
  ItemQuery,
} from './conversation-store.js';
import { estimateBytes } from './node.js';

interface Kept {
  readonly position: number;
  readonly entry: TurnItem;
  readonly bytes: number;
}

interface Held {
  readonly tenant: string;
  conversation: Conversation;
  /** By position. */
  readonly items: Kept[];
  version: number;
  nextPosition: number;
  /** With the position of the last item that it holds. */
  head: { readonly response: string; readonly end: number } | undefined;
  bytes: number;
}

/**
 * The conversations of a single process: within a budget of bytes it keeps the most recently used ones and forgets the
 * rest as a whole. Nothing survives a restart.
 */
export class MemoryConversationStore implements ConversationStore {
  readonly #budget: number;
  /** Least recently used first. */
  readonly #held = new Map<string, Held>();
  #bytes = 0;

  /** @param budget bytes that all conversations may take */
  constructor(budget: number) {
    this.#budget = budget;
  }

  create(tenant: string, conversation: Conversation, items: readonly TurnItem[]): void {
    const bytes = estimateBytes([conversation]);
    const held = { tenant, conversation, items: [], version: 0, nextPosition: 0, head: undefined, bytes };
    this.#held.set(conversation.id, held);
    this.#bytes += bytes;
    this.#add(held, items);
  }

  find(tenant: string, id: string): Conversation | undefined {
    return this.#use(tenant, id)?.conversation;
  }

  setMetadata(tenant: string, id: string, metadata: Readonly<Record<string, string>>): boolean {
    const held = this.#use(tenant, id);
    if (held === undefined) return false;
    const changed = { ...held.conversation, metadata };
    this.#charge(held, estimateBytes([changed]) - estimateBytes([held.conversation]));
    held.conversation = changed;
    this.#evict(held);
    return true;
  }

  delete(tenant: string, id: string): boolean {
    const held = this.#use(tenant, id);
    if (held !== undefined) this.#forget(held);
    return held !== undefined;
  }

  open(tenant: string, id: string, from: 'head' | 'start'): ConversationState | undefined {
    const held = this.#use(tenant, id);
    if (held === undefined) return undefined;
    const head = from === 'head' ? held.head : undefined;
    const known = head === undefined ? 0 : behind(held.items, head.end);
    const items = held.items.slice(known).map(({ entry }) => entry);
    return { version: held.version, head: head?.response, items };
  }

  append(tenant: string, id: string, items: readonly TurnItem[], turn?: ConversationTurn): boolean {
    const held = this.#use(tenant, id);
    if (held === undefined) return false;
    if (turn !== undefined) {
      const end = held.nextPosition + items.length - 1;
      held.head = turn.version === held.version ? { response: turn.response, end } : undefined;
    }
    held.version += 1;
    this.#add(held, items);
    return true;
  }

  listItems(tenant: string, id: string, { limit, order, after }: ItemQuery): ItemPage | undefined {
    const all = (this.#use(tenant, id)?.items ?? []).map(({ entry }) => entry.item);
    const ordered = order === 'asc' ? all : all.reverse();
    const before = after === undefined ? -1 : ordered.findIndex((item) => item.id === after);
    if (after !== undefined && before === -1) return undefined;
    const end = before + 1 + limit;
    return { items: ordered.slice(before + 1, end), hasMore: end < ordered.length };
  }

  findItem(tenant: string, id: string, itemId: string): Item | undefined {
    return this.#use(tenant, id)?.items.find(({ entry }) => entry.item.id === itemId)?.entry.item;
  }

  removeItem(tenant: string, id: string, itemId: string): boolean {
    const held = this.#use(tenant, id);
    const index = held?.items.findIndex(({ entry }) => entry.item.id === itemId) ?? -1;
    const removed = held?.items[index];
    if (held === undefined || removed === undefined) return false;
    held.items.splice(index, 1);
    held.version += 1;
    if (held.head !== undefined && held.head.end >= removed.position) held.head = undefined;
    this.#charge(held, -removed.bytes);
    return true;
  }

  findItems(tenant: string, ids: readonly string[]): Map<string, Item> {
    const wanted = new Set(ids);
    const found = new Map<string, Item>();
    for (const held of this.#held.values()) {
      if (held.tenant !== tenant) continue;
      for (const { entry } of held.items) {
        const { id } = entry.item;
        if (id !== undefined && wanted.has(id)) found.set(id, entry.item);
      }
    }
    return found;
  }

  /** The tenant's conversation, now the most recently used. */
  #use(tenant: string, id: string): Held | undefined {
    const held = this.#held.get(id);
    if (held?.tenant !== tenant) return undefined;
    this.#held.delete(id);
    this.#held.set(id, held);
    return held;
  }

  #add(held: Held, items: readonly TurnItem[]): void {
    for (const entry of items) {
      const bytes = estimateBytes([entry]);
      held.items.push({ position: held.nextPosition++, entry, bytes });
      this.#charge(held, bytes);
    }
    this.#evict(held);
  }

  /** Forgets others until the budget holds; `grown` only when it exceeds the budget alone. */
  #evict(grown: Held): void {
    if (grown.bytes > this.#budget) return this.#forget(grown);
    for (const oldest of this.#held.values()) {
      if (this.#bytes <= this.#budget) break;
      this.#forget(oldest);
    }
  }

  #charge(held: Held, bytes: number): void {
    held.bytes += bytes;
    this.#bytes += bytes;
  }

  #forget(held: Held): void {
    this.#held.delete(held.conversation.id);
    this.#bytes -= held.bytes;
  }
}

/** Index of the first item behind a position, looked for from the end. */
function behind(items: readonly Kept[], position: number): number {
  let index = items.length;
  while ((items[index - 1]?.position ?? -1) > position) index -= 1;
  return index;
}
