import { TOOL_SEARCH, type Tool, type ToolSearchItem } from '@turnpike/protocol';
import { type Piece } from '../format.js';
import { callHeader, messagePieces } from './message.js';
import { FUNCTIONS, namespacesOf, toolsSection } from './tools.js';

/** Tools that join a conversation behind its head. Nothing where none of them can be called. */
export function addedToolsPieces(tools: readonly Tool[]): Piece[] {
  const namespaces = namespacesOf(tools);
  return namespaces.length === 0
    ? []
    : messagePieces({ author: 'developer', content: [toolsSection(namespaces)] });
}

/**
 * A search for tools and what it found: the names as the search's answer, then the tools as any that join. A search by
 * the client is a call; one by a server, which this model cannot make, only a record of what was done.
 */
export function toolSearchPieces(item: ToolSearchItem): Piece[] {
  const byClient = item.execution === 'client';
  if (item.type === 'tool_search_output') {
    const found = namespacesOf(item.tools).flatMap(({ name, tools }) =>
      tools.map((tool) => (name === FUNCTIONS ? tool.name : `${name}.${tool.name}`)),
    );
    const names = found.length === 0 ? 'No tools were found.' : `Loaded tools: ${found.join(', ')}`;
    const answer = messagePieces({
      author: byClient ? `${FUNCTIONS}.${TOOL_SEARCH}` : TOOL_SEARCH,
      recipient: 'assistant',
      channel: 'commentary',
      content: [names],
    });
    return [...answer, ...addedToolsPieces(item.tools)];
  }
  if (item.status === 'incomplete') return [];
  const written = typeof item.arguments === 'string' ? item.arguments : JSON.stringify(item.arguments);
  if (byClient) {
    return messagePieces({ ...callHeader({ type: TOOL_SEARCH, name: TOOL_SEARCH }), content: [written] });
  }
  return messagePieces({
    author: TOOL_SEARCH,
    recipient: 'assistant',
    channel: 'commentary',
    content: [`Searched for tools: ${written}`],
  });
}
