import { createHash } from 'node:crypto';
import { isToolItem, type Item, type MessagePart, type ToolItem } from '@turnpike/protocol';
import type { TurnItem } from '@turnpike/turns';

/** Names a tenant's conversation up to some item. */
export type ReplayKey = string;

/** The key of a conversation that has not begun. */
export function rootKey(tenant: string): ReplayKey {
  return digest(`tenant ${tenant}`);
}

/**
 * The key behind one more item. Two items have the same effect on it when a client could send one for the other: ids,
 * status and what the server sealed don't count, nor does whether a text is input or output. Reasoning counts as an item
 * only, because clients bring it back in many forms; {@link sameReasoning} compares what they bring.
 */
export function keyAfter(key: ReplayKey, item: Item): ReplayKey {
  return digest(`${key} ${JSON.stringify(essenceOf(item))}`);
}

/** False when a client's reasoning item says something else than the one it stands for. */
export function sameReasoning(sent: TurnItem, known: TurnItem): boolean {
  if (sent.item.type !== 'reasoning' || known.item.type !== 'reasoning') return true;
  if (sent.sampled !== undefined) return sameIds(sent.sampled.ids, known.sampled?.ids);
  const { content } = sent.item;
  return (
    content === undefined || content.length === 0 || textOf(content) === textOf(known.item.content ?? [])
  );
}

function sameIds(a: Int32Array, b: Int32Array | undefined): boolean {
  return b !== undefined && a.length === b.length && a.every((id, index) => id === b[index]);
}

function essenceOf(item: Item): unknown[] {
  if (isToolItem(item)) return [fieldsOf(item)];
  switch (item.type) {
    case 'message':
      return ['message', item.role, item.phase === 'commentary', ...item.content.map(essenceOfPart)];
    case 'reasoning':
      return ['reasoning'];
    case 'function_call':
      return [item.type, item.call_id, item.namespace ?? '', item.name, item.arguments, isCut(item)];
    case 'custom_tool_call':
      return [item.type, item.call_id, item.namespace ?? '', item.name, item.input, isCut(item)];
    case 'function_call_output':
    case 'custom_tool_call_output':
      return [item.type, item.call_id, item.output];
    case 'additional_tools':
      return [item.type, item.tools];
    case 'compaction':
      return [item.type, item.encrypted_content];
    case 'tool_search_call':
      return [item.type, item.call_id, item.execution, sorted(item.arguments), isCut(item)];
    case 'tool_search_output':
      return [item.type, item.call_id, item.execution, item.tools];
    case 'configuration_update':
      return [item.type, item.reasoning?.effort, item.text?.format];
  }
}

/** A JSON value with its keys in order: clients that parse what the server wrote may keep them in another one. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, entry]) => [key, sorted(entry)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Everything that was sent; nulls equal absence, and an id counts where another item refers to it. */
function fieldsOf(item: ToolItem): unknown {
  const { id: _id, ...fields } = item;
  if (item.type === 'mcp_approval_request') return item;
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

/** A call that was cut short is not shown to the model, so that it makes a difference. */
function isCut({ status }: { status?: string | undefined }): boolean {
  return status === 'incomplete';
}

function essenceOfPart(part: MessagePart): unknown {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
      return part.text;
    case 'refusal':
      return part.refusal;
    case 'input_image':
    case 'input_file':
      return part;
  }
}

function textOf(parts: readonly { text: string }[]): string {
  return parts.map(({ text }) => text).join('');
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
