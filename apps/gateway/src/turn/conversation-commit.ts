import type { ConversationStore, ResponseNode } from '@turnpike/conversation';
import type { BegunConversation } from './conversation-beginning.js';

/**
 * Adds a turn to its conversation, and makes its response the head unless something else has happened there in between.
 * A conversation that was deleted meanwhile stays deleted; the response is none the worse for it.
 *
 * Comes before everything else that a commit does: when it fails nothing has been kept, and the response can end as
 * failed.
 */
export async function appendTurn(
  conversations: ConversationStore,
  { id, version, brought }: BegunConversation,
  node: ResponseNode,
): Promise<void> {
  const turn = { response: node.id, version };
  await conversations.append(node.tenant, id, [...brought, ...node.output], turn);
}
