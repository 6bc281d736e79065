import { resolveParent, type ChainNode, type ReplayIndex, type ResponseNode } from '@turnpike/conversation';
import { isOutputItem, type ResponseRequest } from '@turnpike/protocol';
import type { TurnItem } from '@turnpike/turns';
import {
  conversationBeginning,
  type BegunConversation,
  type ConversationParts,
} from './conversation-beginning.js';
import type { TurnInput } from './turn-input.js';
import { turnItems } from './turn-items.js';

/** What a turn starts from. */
export interface Beginning {
  /** The response whose artifacts the new items are folded into. */
  readonly base: ResponseNode | undefined;
  /** Items that are new to it. */
  readonly items: readonly TurnItem[];
  /** How many items of the request came before those, and are known; negative as in `Turn.known`. */
  readonly known: number;
  /** The response that the new one follows in the tree. */
  readonly parent: ResponseNode | undefined;
  /** Items that the new response holds as its own input. */
  readonly input: readonly TurnItem[];
  /** The conversation that the turn belongs to. */
  readonly conversation?: BegunConversation;
}

export interface BeginningParts extends ConversationParts {
  readonly replays: ReplayIndex;
}

/**
 * Finds what a request continues: the conversation or response it names, or, when it brings a conversation whole or the
 * rest of one, the longest beginning of it that was made here.
 * @throws ApiError conversation_not_found | previous_response_not_found | invalid_encrypted_content
 */
export async function beginningOf(
  { request, tenant, connection }: Pick<TurnInput, 'request' | 'tenant' | 'connection'>,
  parts: BeginningParts,
): Promise<Beginning> {
  const { store, sealer, replays } = parts;
  const { previousResponseId, conversation } = request;
  if (conversation !== undefined) return conversationBeginning(conversation, request.input, tenant, parts);
  if (previousResponseId !== undefined) {
    const sources = connection === undefined ? [store] : [connection.cache, connection.lost, store];
    const parent = await resolveParent(tenant, previousResponseId, sources);
    const items = turnItems(request.input, tenant, sealer);
    const resumed = isResumed(request) ? replays.find(tenant, items, parent) : undefined;
    if (resumed === undefined) return { base: parent, items, known: 0, parent, input: items };
    const rest = items.slice(resumed.items);
    return { base: resumed.node, items: rest, known: resumed.items, parent: resumed.node, input: rest };
  }
  const all = turnItems(request.input, tenant, sealer);
  const prefix = replays.find(tenant, all);
  if (prefix === undefined || (request.store && !isAllStored(prefix.node))) {
    return { base: undefined, items: all, known: 0, parent: undefined, input: all };
  }
  const items = all.slice(prefix.items);
  // A stored response shows the input of its own request, so it keeps all of it; otherwise the tree shares it.
  return request.store
    ? { base: prefix.node, items, known: prefix.items, parent: undefined, input: all }
    : { base: prefix.node, items, known: prefix.items, parent: prefix.node, input: items };
}

/**
 * True when a request brings output of before along with the response it continues, as Codex does with a conversation
 * that was closed: it warms up with the beginning, and sends all the rest behind that. A stored response keeps its input.
 */
function isResumed({ input, store }: ResponseRequest): boolean {
  return !store && input.some(isOutputItem);
}

/**
 * True when nothing of a chain was to be kept off the disk. Its artifacts hold what was sampled, and of a response that
 * is stored they are written; so what a `store: false` response sampled must not be among them. An ancestor without a
 * response came from the store.
 */
export function isAllStored(node: ChainNode): boolean {
  for (let at: ChainNode | undefined = node; at !== undefined; at = at.parent) {
    if (at.response?.store === false) return false;
  }
  return true;
}
