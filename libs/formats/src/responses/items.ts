import {
  answerOf,
  callMadeBy,
  isToolItem,
  type Item,
  type MessagePart,
  type ToolOutputItem,
} from '@turnpike/protocol';
import { said, textOf } from '../chat/items.js';
import { IMAGE } from '../chat/markers.js';
import { chatTargets, functionName } from '../chat/tools.js';
import type { Piece } from '../format.js';

/**
 * One item as JSON text of an input item, with a comma behind it. Ids of ours mean nothing to the server, which keeps nothing,
 * and are left out.
 */
export function responsesItem(item: Item): Piece[] {
  if (isToolItem(item)) {
    const call = callMadeBy(item);
    if (call !== undefined) return callPieces(call.id, functionName(call), said(item));
    const answer = answerOf(item);
    if (answer !== undefined) return outputPieces(answer.id, said(item));
    return written({ type: 'message', role: 'assistant', content: `${item.type}: ${said(item)}` });
  }
  switch (item.type) {
    case 'message':
      return messagePieces(item.role, item.content);
    case 'reasoning': {
      const content = item.content ?? [];
      return content.length === 0 ? [] : written({ type: 'reasoning', summary: [], content });
    }
    case 'function_call':
      return item.status === 'incomplete' ? [] : callPieces(item.call_id, functionName(item), item.arguments);
    case 'custom_tool_call': {
      const input = JSON.stringify({ input: item.input });
      return item.status === 'incomplete' ? [] : callPieces(item.call_id, functionName(item), input);
    }
    case 'function_call_output':
    case 'custom_tool_call_output':
      return outputPieces(item.call_id, item.output);
    case 'tool_search_call': {
      if (item.call_id === null || item.status === 'incomplete') return [];
      const args = typeof item.arguments === 'string' ? item.arguments : JSON.stringify(item.arguments);
      return callPieces(item.call_id, 'tool_search', args);
    }
    case 'tool_search_output': {
      if (item.call_id === null) return [];
      const names = [...chatTargets(item.tools).keys()].join(', ');
      return outputPieces(item.call_id, names === '' ? 'No tools were found.' : `Loaded tools: ${names}`);
    }
    // Tools that join stand among the tools of the request; what a compaction stands for is rendered in its place.
    case 'additional_tools':
    case 'configuration_update':
    case 'compaction':
      return [];
  }
}

function written(fields: Record<string, unknown>): Piece[] {
  return [`${JSON.stringify(fields)},`];
}

function messagePieces(role: string, content: readonly MessagePart[]): Piece[] {
  return [`{"type":"message","role":"${role}","content":`, ...contentPieces(content), '},'];
}

function callPieces(callId: string, name: string, args: string): Piece[] {
  return written({ type: 'function_call', call_id: callId, name, arguments: args });
}

function outputPieces(callId: string, output: ToolOutputItem['output']): Piece[] {
  const content = typeof output === 'string' ? [JSON.stringify(output)] : contentPieces(output);
  return [`{"type":"function_call_output","call_id":${JSON.stringify(callId)},"output":`, ...content, '},'];
}

/** Text alone is a string; with images it is a list of parts. */
function contentPieces(parts: readonly MessagePart[]): Piece[] {
  if (!parts.some(({ type }) => type === 'input_image')) return [JSON.stringify(parts.map(textOf).join(''))];
  const pieces = parts.map((part, index): Piece[] => {
    const comma = index === 0 ? '' : ',';
    if (part.type === 'input_image') return [`${comma}{"type":"input_image","image_url":`, IMAGE, '}'];
    return [`${comma}${JSON.stringify({ type: 'input_text', text: textOf(part) })}`];
  });
  return ['[', ...pieces.flat(), ']'];
}
