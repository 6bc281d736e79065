import {
  answerOf,
  callMadeBy,
  isSilentField,
  isToolItem,
  type Item,
  type MessageItem,
  type MessagePart,
  type ToolItem,
  type ToolOutputItem,
  type ToolSearchItem,
} from '@turnpike/protocol';
import type { ItemContext, Piece, Place, SegmentKind } from '../format.js';
import { callEntry, contentField, reasoningField, wholeMessage, type Written } from './message.js';
import { chatTargets, functionName } from './tools.js';
import { IMAGE } from './markers.js';

/** One item as JSON text of messages, or a part of one: what the assistant does in one go is one message. */
export function chatItem(item: Item, { place }: ItemContext): Written {
  if (isToolItem(item)) return toolItem(item, place);
  switch (item.type) {
    case 'message':
      return message(item, place);
    case 'reasoning': {
      const text = (item.content ?? []).map((part) => part.text).join('');
      return text === '' ? nothing(place) : reasoningField(place, text);
    }
    case 'function_call':
      if (item.status === 'incomplete') return nothing(place);
      return callEntry(place, { id: item.call_id, name: functionName(item), arguments: item.arguments });
    case 'custom_tool_call': {
      if (item.status === 'incomplete') return nothing(place);
      const input = JSON.stringify({ input: item.input });
      return callEntry(place, { id: item.call_id, name: functionName(item), arguments: input });
    }
    case 'function_call_output':
    case 'custom_tool_call_output':
      return toolMessage(place, item.call_id, item.output);
    case 'tool_search_call':
    case 'tool_search_output':
      return toolSearch(item, place);
    // Tools that join stand among the functions of the request; what a compaction stands for is rendered in its place.
    case 'additional_tools':
    case 'configuration_update':
    case 'compaction':
      return nothing(place);
  }
}

/** What kind of segment the item makes, for dropping the reasoning of finished turns. */
export function chatSegmentKind(item: Item): SegmentKind {
  if (item.type === 'reasoning') return 'reasoning';
  if (item.type !== 'message') return 'other';
  if (item.role === 'user') return 'user';
  return item.role === 'assistant' && item.phase !== 'commentary' ? 'answer' : 'other';
}

function nothing(place: Place): Written {
  return { pieces: [], place };
}

function message({ role, content }: MessageItem, place: Place): Written {
  if (role === 'assistant') {
    const text = content.map(textOf).join('');
    return text === '' ? nothing(place) : contentField(place, text);
  }
  // Not every server knows developers.
  const named = role === 'developer' ? 'system' : role;
  return wholeMessage(place, [`{"role":"${named}","content":`, ...contentPieces(content), '},']);
}

/** Text alone is a string, as every server takes it; with images it is a list of parts. */
function contentPieces(parts: readonly MessagePart[]): Piece[] {
  if (!parts.some(({ type }) => type === 'input_image')) {
    return [JSON.stringify(parts.map(textOf).join(''))];
  }
  const pieces = parts.flatMap((part): Piece[] => {
    if (part.type === 'input_image') return [',{"type":"image_url","image_url":', IMAGE, '}'];
    const text = textOf(part);
    return text === '' ? [] : [`,${JSON.stringify({ type: 'text', text })}`];
  });
  const [first] = pieces;
  return ['[', ...(typeof first === 'string' ? [first.slice(1), ...pieces.slice(1)] : pieces), ']'];
}

/** Text of a part; '' for one that is none. */
export function textOf(part: MessagePart): string {
  if (part.type === 'refusal') return part.refusal;
  return part.type === 'input_text' || part.type === 'output_text' ? part.text : '';
}

function toolMessage(place: Place, callId: string, output: ToolOutputItem['output']): Written {
  const content = typeof output === 'string' ? [JSON.stringify(output)] : contentPieces(output);
  const head = `{"role":"tool","tool_call_id":${JSON.stringify(callId)},"content":`;
  return wholeMessage(place, [head, ...content, '},']);
}

function toolSearch(item: ToolSearchItem, place: Place): Written {
  // One by a server was not asked of this model: what it found is there from the next request on.
  if (item.call_id === null) return nothing(place);
  if (item.type === 'tool_search_call') {
    if (item.status === 'incomplete') return nothing(place);
    const written = typeof item.arguments === 'string' ? item.arguments : JSON.stringify(item.arguments);
    return callEntry(place, { id: item.call_id, name: 'tool_search', arguments: written });
  }
  const names = [...chatTargets(item.tools).keys()];
  const found = names.length === 0 ? 'No tools were found.' : `Loaded tools: ${names.join(', ')}`;
  return toolMessage(place, item.call_id, found);
}

/**
 * An item of a tool of another kind, which this API has no words for: a call with what it says as arguments, an output with
 * what it says as text, and everything else as a note of the assistant.
 */
function toolItem(item: ToolItem, place: Place): Written {
  const call = callMadeBy(item);
  if (call !== undefined)
    return callEntry(place, { id: call.id, name: functionName(call), arguments: said(item) });
  const answer = answerOf(item);
  if (answer !== undefined) return toolMessage(place, answer.id, said(item));
  return contentField(place, `${item.type}: ${said(item)}`);
}

/** What such an item says, as JSON text. */
export function said(item: ToolItem): string {
  return JSON.stringify(item, (key, value: unknown) => (isSilentField(item, key) ? undefined : value));
}
