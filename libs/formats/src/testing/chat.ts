import { callMadeBy, toolOutputText, type Item, type Tool } from '@turnpike/protocol';
import type { Format, HeadSettings, Piece, Place } from '../format.js';

/** A message as chat templates are given it. */
export interface ChatMessage {
  role: string;
  content: string;
  reasoning_content?: string;
  tool_calls?: { type: 'function'; function: { name: string; arguments: unknown } }[];
  tool_call_id?: string;
}

/** A conversation as chat templates are given it: what the assistant does between others is one message. */
export function chatMessages(instructions: string | undefined, items: readonly Item[]): ChatMessage[] {
  const messages: ChatMessage[] =
    instructions === undefined ? [] : [{ role: 'system', content: instructions }];
  let open: ChatMessage | undefined;
  const assistant = (): ChatMessage => {
    if (open === undefined) messages.push((open = { role: 'assistant', content: '' }));
    return open;
  };
  for (const item of items) {
    if (item.type === 'reasoning') {
      assistant().reasoning_content = (item.content ?? []).map(({ text }) => text).join('');
    } else if (item.type === 'function_call') {
      const call = { name: item.name, arguments: JSON.parse(item.arguments) as unknown };
      (assistant().tool_calls ??= []).push({ type: 'function', function: call });
    } else if (item.type === 'message' && item.role === 'assistant') {
      assistant().content = textOf(item);
    } else {
      open = undefined;
      if (item.type === 'message') messages.push({ role: item.role, content: textOf(item) });
      else if (item.type === 'function_call_output') {
        messages.push({ role: 'tool', content: toolOutputText(item.output), tool_call_id: item.call_id });
      }
    }
  }
  return messages;
}

export function chatTools(tools: readonly Tool[]): unknown[] {
  return tools.map((tool) => ({
    type: 'function',
    function: Object.fromEntries(
      ['name', 'description', 'parameters'].flatMap((field) =>
        field in tool ? [[field, (tool as unknown as Record<string, unknown>)[field]]] : [],
      ),
    ),
  }));
}

function textOf({ content }: Extract<Item, { type: 'message' }>): string {
  return content.map((part) => ('text' in part ? part.text : '')).join('');
}

/** All pieces of a prompt, item by item; what was dropped with the reasoning of finished turns is left out. */
export function promptPieces(
  format: Format,
  head: HeadSettings,
  items: readonly Item[],
  effort = head.reasoningEffort,
): Piece[] {
  const { pieces, place } = itemPieces(format, items);
  const opened = format.generationPrompt(place, effort);
  return [...format.renderHead(head), ...pieces, ...format.closing(place), ...opened];
}

/** The items' own pieces. */
export function itemPieces(format: Format, items: readonly Item[]): { pieces: Piece[]; place: Place } {
  const calls = new Map<string, { name: string; namespace?: string | undefined }>();
  const finished = format.dropsFinishedReasoning
    ? items.findLastIndex((item) => format.segmentKind(item) === 'user')
    : -1;
  let place: Place;
  const pieces: Piece[] = [];
  items.forEach((item, index) => {
    const rendered = format.renderItem(item, { calls, place });
    ({ place } = rendered);
    const call = callMadeBy(item);
    if (call !== undefined) calls.set(call.id, call);
    if (item.type !== 'reasoning' || index > finished) {
      pieces.push(...rendered.pieces);
      return;
    }
    const [from, to] = format.reasoningSpan(rendered.pieces);
    pieces.push(...rendered.pieces.slice(0, from), ...rendered.pieces.slice(to));
  });
  return { pieces, place };
}
