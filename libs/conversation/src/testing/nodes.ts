import { newResponse, type ResponseRequest, type Tool } from '@turnpike/protocol';
import type { TurnItem } from '@turnpike/turns';
import { createNode, type ResponseNode } from '../node.js';

const REQUEST = { text: { format: { type: 'text' } }, reasoning: {}, tools: [] as Tool[] } as ResponseRequest;

/** A node with one input and one output message, named after its id. */
export function node(
  id: string,
  parent?: ResponseNode,
  { ownBytes = 1, tenant = parent?.tenant ?? 'tenant' }: { ownBytes?: number; tenant?: string } = {},
): ResponseNode {
  const response = newResponse(id, REQUEST, 0);
  const [input, output] = [[message(`${id} in`)], [message(`${id} out`)]];
  return createNode({ id, tenant, parent, input, output, response, artifacts: new Map(), ownBytes });
}

export function message(text: string): TurnItem {
  return { item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] } };
}

export function textOf({ item }: TurnItem): string {
  const part = item.type === 'message' ? item.content[0] : undefined;
  return part?.type === 'input_text' ? part.text : '';
}
