import type {
  ConversationState,
  ConversationStore,
  ResponseNode,
  ResponseStore,
} from '@turnpike/conversation';
import { ApiError, quotable, type Item } from '@turnpike/protocol';
import type { Sealer } from '@turnpike/sealing';
import type { TurnItem } from '@turnpike/turns';
import { joiningItems } from './conversation-items.js';
import { turnItems } from './turn-items.js';

/** A conversation as its turn found it. */
export interface BegunConversation {
  readonly id: string;
  readonly version: number;
  /** What the request adds to it, with the ids that they have from now on. */
  readonly brought: readonly TurnItem[];
}

export interface ConversationParts {
  readonly store: ResponseStore;
  readonly conversations: ConversationStore;
  readonly sealer: Sealer;
}

/** The beginning of a turn of a conversation. */
export interface ConversationBeginning {
  readonly base: ResponseNode | undefined;
  readonly parent: ResponseNode | undefined;
  /** Those of the conversation that are new to the head, then those that the request brought. */
  readonly items: readonly TurnItem[];
  readonly input: readonly TurnItem[];
  /** Minus how many of the items the request did not bring. */
  readonly known: number;
  readonly conversation: BegunConversation;
}

/**
 * What a turn of a conversation starts from: its head, and behind that the items that were added since. Without a head
 * all items are folded anew, by the same code.
 * @throws ApiError conversation_not_found | invalid_encrypted_content
 */
export async function conversationBeginning(
  id: string,
  input: readonly Item[],
  tenant: string,
  parts: ConversationParts,
): Promise<ConversationBeginning> {
  const { state, head } = await found(id, tenant, parts);
  const brought = joiningItems(turnItems(input, tenant, parts.sealer));
  const items = [...state.items, ...brought];
  return {
    base: head,
    items,
    known: 0 - state.items.length,
    parent: head,
    input: items,
    conversation: { id, version: state.version, brought },
  };
}

async function found(
  id: string,
  tenant: string,
  { conversations, store }: ConversationParts,
): Promise<{ state: ConversationState; head: ResponseNode | undefined }> {
  const state = await conversations.open(tenant, id, 'head');
  if (state === undefined) throw unknownConversation(id, 'conversation');
  if (state.head === undefined) return { state, head: undefined };
  const head = await store.load(tenant, state.head);
  if (head !== undefined) return { state, head };
  // The response was deleted or has expired; the items have not.
  const whole = await conversations.open(tenant, id, 'start');
  if (whole === undefined) throw unknownConversation(id, 'conversation');
  return { state: whole, head: undefined };
}

/**
 * @param param the field or part of the path that names it
 * @returns ApiError conversation_not_found, for unknown ids and for those of other tenants alike
 */
export function unknownConversation(id: string, param: 'conversation' | 'conversation_id'): ApiError {
  const message = `Conversation with id '${quotable(id)}' not found.`;
  return new ApiError('conversation_not_found', { param, message });
}
