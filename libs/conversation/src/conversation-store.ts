import type { Item } from '@turnpike/protocol';
import type { TurnItem } from '@turnpike/turns';

/** A conversation without its items. */
export interface Conversation {
  readonly id: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/** What a turn of a conversation starts from. */
export interface ConversationState {
  /** Changes whenever the items do. A turn hands it back, so that what happened in between is noticed. */
  readonly version: number;
  /** Id of the response that holds the conversation as it is before `items`; undefined when none does. */
  readonly head: string | undefined;
  /** What came behind the head, or everything when there is none. */
  readonly items: readonly TurnItem[];
}

/** The turn that adds items: its response, and the version that it started from. */
export interface ConversationTurn {
  readonly response: string;
  readonly version: number;
}

export interface ItemQuery {
  /** Most items of the page. */
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  /** Id of the item before the first one of the page, in the page's order. */
  readonly after: string | undefined;
}

export interface ItemPage {
  readonly items: readonly Item[];
  readonly hasMore: boolean;
}

/**
 * Keeps conversations until they are deleted. Their items are their own: what becomes of the responses that made them
 * makes no difference. Every item has an id that no other item of any conversation has.
 *
 * The head only saves work. It is the response of the latest turn as long as that response holds exactly the items up
 * to its own last one; a change that ends this forgets it, and the next turn starts from all items.
 *
 * Of another tenant's conversation every method says what it says of one that never was.
 */
export interface ConversationStore {
  create(tenant: string, conversation: Conversation, items: readonly TurnItem[]): void | Promise<void>;
  find(tenant: string, id: string): Conversation | undefined | Promise<Conversation | undefined>;
  /** @returns whether there is such a conversation */
  setMetadata(
    tenant: string,
    id: string,
    metadata: Readonly<Record<string, string>>,
  ): boolean | Promise<boolean>;
  /** @returns whether there was such a conversation */
  delete(tenant: string, id: string): boolean | Promise<boolean>;

  /**
   * Where a turn starts. O(items behind the head).
   * @param from `start` passes over the head, for when its response is not to be found
   */
  open(
    tenant: string,
    id: string,
    from: 'head' | 'start',
  ): ConversationState | undefined | Promise<ConversationState | undefined>;
  /**
   * Adds items at the end. O(added).
   * @param turn the turn they come from: its response is the head from here on if nothing has changed since it started,
   *   and otherwise there is none. Without a turn the head stays, and the items stand behind it.
   * @returns whether there is such a conversation
   */
  append(
    tenant: string,
    id: string,
    items: readonly TurnItem[],
    turn?: ConversationTurn,
  ): boolean | Promise<boolean>;

  /** A page of the items; undefined when `after` is none of them. */
  listItems(
    tenant: string,
    id: string,
    query: ItemQuery,
  ): ItemPage | undefined | Promise<ItemPage | undefined>;
  findItem(tenant: string, id: string, itemId: string): Item | undefined | Promise<Item | undefined>;
  /** Takes an item out; the head goes if it holds it. @returns whether there was such an item */
  removeItem(tenant: string, id: string, itemId: string): boolean | Promise<boolean>;
  /** Items of the tenant's conversations, by their own ids; those that are not found are left out. */
  findItems(tenant: string, ids: readonly string[]): Map<string, Item> | Promise<Map<string, Item>>;
}
