import { type Tool } from '@turnpike/protocol';
import { type Piece } from '../format.js';
import { namespacesOf } from '../tools/namespaces.js';
import { messagePieces } from './message.js';
import { toolsSection } from './tools.js';

/** Tools that join a conversation behind its head. Nothing where none of them can be called. */
export function addedToolsPieces(tools: readonly Tool[]): Piece[] {
  const namespaces = namespacesOf(tools);
  return namespaces.length === 0
    ? []
    : messagePieces({ author: 'developer', content: [toolsSection(namespaces)] });
}
