import {
  isToolItem,
  offeredTools,
  TOOL_SEARCH,
  toolOutputText,
  type Item,
  type MessageItem,
  type MessagePart,
  type ToolCallItem,
  type ToolOutputItem,
  type ToolSearchItem,
} from '@turnpike/protocol';
import { type OpenCalls, type SegmentKind } from '../format.js';
import { namespacesOf, qualifiedName } from '../tools/namespaces.js';
import { IMAGE, type Content, type Spoken } from './spoken.js';
import { toolItemSpoken } from './tool-items.js';

/** What an item says, in order; nothing when it shows nothing to the model. */
export function spokenOf(item: Item, calls: OpenCalls): readonly Spoken[] {
  if (isToolItem(item)) return toolItemSpoken(item, calls);
  switch (item.type) {
    case 'message':
      return [messageSpoken(item)];
    case 'reasoning': {
      const texts = (item.content ?? []).map(({ text }) => text);
      return texts.length === 0 ? [] : [{ kind: 'reasoning', texts }];
    }
    case 'function_call':
    case 'custom_tool_call':
      return callSpoken(item);
    case 'function_call_output':
    case 'custom_tool_call_output':
      return [
        {
          kind: 'output',
          tool: calls.get(item.call_id),
          id: item.call_id,
          content: outputContent(item.output),
        },
      ];
    case 'additional_tools':
      return [{ kind: 'tools', tools: offeredTools(item.tools) }];
    case 'tool_search_call':
    case 'tool_search_output':
      return searchSpoken(item);
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

function messageSpoken(item: MessageItem): Spoken {
  const content = item.content.flatMap(partContent);
  switch (item.role) {
    case 'user':
      return { kind: 'user', content };
    case 'assistant':
      return { kind: 'answer', content, commentary: item.phase === 'commentary' };
    case 'system':
    case 'developer':
      return { kind: 'developer', content };
  }
}

function partContent(part: MessagePart): Content {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
      return [part.text];
    case 'refusal':
      return [part.refusal];
    case 'input_image':
      return [IMAGE];
    case 'input_file':
      return [];
  }
}

/** A call that was cut short has no output and can have none: the model does not see it. */
function callSpoken(item: ToolCallItem): Spoken[] {
  if (item.status === 'incomplete') return [];
  const isFunction = item.type === 'function_call';
  const target = {
    type: isFunction ? 'function' : 'custom',
    name: item.name,
    namespace: item.namespace,
  } as const;
  return [{ kind: 'call', target, id: item.call_id, content: isFunction ? item.arguments : item.input }];
}

/** Text up to each image is one text. */
function outputContent(output: ToolOutputItem['output']): Content {
  if (typeof output === 'string') return [output];
  const content: (string | typeof IMAGE)[] = [];
  let from = 0;
  output.forEach(({ type }, index) => {
    if (type !== 'input_image') return;
    content.push(toolOutputText(output.slice(from, index)), IMAGE);
    from = index + 1;
  });
  return [...content, toolOutputText(output.slice(from))];
}

/**
 * A search for tools and what it found: the names as the search's answer, then the tools as any that join. A search by
 * the client is a call; one by a server, which this model cannot make, only a record of what was done.
 */
function searchSpoken(item: ToolSearchItem): Spoken[] {
  const byClient = item.execution === 'client';
  const id = item.call_id ?? undefined;
  if (item.type === 'tool_search_output') {
    const found = namespacesOf(item.tools).flatMap(({ name, tools }) =>
      tools.map((tool) => qualifiedName({ name: tool.name, namespace: name })),
    );
    const names = found.length === 0 ? 'No tools were found.' : `Loaded tools: ${found.join(', ')}`;
    const answer: Spoken = byClient
      ? { kind: 'output', tool: { name: TOOL_SEARCH }, id, content: [names] }
      : { kind: 'record', author: TOOL_SEARCH, text: names };
    return [answer, { kind: 'tools', tools: item.tools }];
  }
  if (item.status === 'incomplete') return [];
  const written = typeof item.arguments === 'string' ? item.arguments : JSON.stringify(item.arguments);
  if (!byClient) return [{ kind: 'record', author: TOOL_SEARCH, text: `Searched for tools: ${written}` }];
  return [{ kind: 'call', target: { type: TOOL_SEARCH, name: TOOL_SEARCH }, id, content: written }];
}
