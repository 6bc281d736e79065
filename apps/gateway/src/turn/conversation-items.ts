import { mintId, type Item } from '@turnpike/protocol';
import type { TurnItem } from '@turnpike/turns';

/** Types that always have a status once they are kept. Source: openai-node `ConversationItem`. */
const WITH_STATUS: ReadonlySet<Item['type']> = new Set([
  'message',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
]);

/**
 * Items as they join a conversation: with an id of the server's own, so that no two items of any conversation share one,
 * and with the status that clients expect.
 */
export function joiningItems(items: readonly TurnItem[]): TurnItem[] {
  return items.map(({ item, ...sampled }): TurnItem => {
    const joining: Item = { ...item, id: mintId(item.type) };
    if (!WITH_STATUS.has(item.type) || ('status' in item && item.status !== undefined))
      return { ...sampled, item: joining };
    return { ...sampled, item: { ...joining, status: 'completed' } as Item };
  });
}
