import {
  isToolItem,
  offeredTools,
  toolOutputText,
  type Item,
  type MessageItem,
  type MessagePart,
  type ToolCallItem,
  type ToolOutputItem,
} from '@turnpike/protocol';
import { type OpenCalls, type Piece, type SegmentKind } from '../format.js';
import { HARMONY } from '../tokenizer/o200k-harmony.js';
import { addedToolsPieces, toolSearchPieces } from './added-tools.js';
import { instructionsSection } from './head.js';
import { callHeader, messagePieces } from './message.js';
import { toolItemPieces } from './tool-items.js';
import { FUNCTIONS } from './tools.js';

/** Pieces of one conversation item; the mapping is the table in this library's README. */
export function itemPieces(item: Item, calls: OpenCalls): Piece[] {
  if (isToolItem(item)) return toolItemPieces(item, calls);
  switch (item.type) {
    case 'message':
      return chatPieces(item);
    case 'reasoning': {
      const content = (item.content ?? []).map((part) => part.text);
      return content.length === 0 ? [] : messagePieces({ author: 'assistant', channel: 'analysis', content });
    }
    case 'function_call':
    case 'custom_tool_call':
      return callPieces(item);
    case 'function_call_output':
    case 'custom_tool_call_output':
      return outputPieces(item, calls);
    case 'additional_tools':
      return addedToolsPieces(offeredTools(item.tools));
    case 'tool_search_call':
    case 'tool_search_output':
      return toolSearchPieces(item);
    // What a compaction stands for is rendered in its place.
    case 'configuration_update':
    case 'compaction':
      return [];
  }
}

/** What kind of segment the item makes, for dropping the reasoning of finished turns. */
export function itemSegmentKind(item: Item): SegmentKind {
  if (item.type === 'reasoning') return 'reasoning';
  if (item.type !== 'message') return 'other';
  if (item.role === 'user') return 'user';
  return item.role === 'assistant' && item.phase !== 'commentary' ? 'answer' : 'other';
}

function chatPieces(item: MessageItem): Piece[] {
  const content = item.content.flatMap(partPieces);
  switch (item.role) {
    case 'user':
      return messagePieces({ author: 'user', content });
    case 'assistant':
      return messagePieces({
        author: 'assistant',
        channel: item.phase === 'commentary' ? 'commentary' : 'final',
        content,
      });
    case 'system':
    case 'developer':
      return messagePieces({
        author: 'developer',
        content: joinedTexts([instructionsSection(''), ...content]),
      });
  }
}

function partPieces(part: MessagePart): Piece[] {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
      return [part.text];
    case 'refusal':
      return [part.refusal];
    case 'input_image':
      return [HARMONY.image];
    case 'input_file':
      return [];
  }
}

/** The same pieces, texts that follow each other being one text. */
function joinedTexts(pieces: readonly Piece[]): Piece[] {
  const joined: Piece[] = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    if (typeof piece === 'string' && typeof last === 'string') joined[joined.length - 1] = last + piece;
    else joined.push(piece);
  }
  return joined;
}

/** A call that was cut short has no output and can have none: the model does not see it. */
function callPieces(item: ToolCallItem): Piece[] {
  if (item.status === 'incomplete') return [];
  const isFunction = item.type === 'function_call';
  const { name, namespace } = item;
  return messagePieces({
    ...callHeader({ type: isFunction ? 'function' : 'custom', name, namespace }),
    content: [isFunction ? item.arguments : item.input],
  });
}

function outputPieces(item: ToolOutputItem, calls: OpenCalls): Piece[] {
  const call = calls.get(item.call_id);
  return messagePieces({
    // An output whose call is unknown still reaches the model, from a tool without a name.
    author: call === undefined ? 'tool' : `${call.namespace ?? FUNCTIONS}.${call.name}`,
    recipient: 'assistant',
    channel: 'commentary',
    content: outputContent(item.output),
  });
}

/** Text up to each image is one text. */
function outputContent(output: ToolOutputItem['output']): Piece[] {
  if (typeof output === 'string') return [output];
  const content: Piece[] = [];
  let from = 0;
  output.forEach(({ type }, index) => {
    if (type !== 'input_image') return;
    content.push(toolOutputText(output.slice(from, index)), HARMONY.image);
    from = index + 1;
  });
  return [...content, toolOutputText(output.slice(from))];
}
