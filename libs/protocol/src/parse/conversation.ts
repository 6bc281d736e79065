import { z } from 'zod';
import { ApiError } from '../errors.js';
import type { Item } from '../items.js';
import { invalid, isAbsent, isObject, missing, parseField, wrongType } from './fields.js';
import { parseItem } from './items.js';
import { parseMetadata } from './metadata.js';

/** Most items that one request adds to a conversation. Source: openai-node `ConversationCreateParams`. */
const MAX_ADDED_ITEMS = 20;

const conversationId = z.string().min(1);
const reference = z.object({ id: conversationId });

/**
 * The `conversation` of a request, an id or `{id}`; undefined when there is none.
 * @throws ApiError naming `conversation`, or `store` when the request asks that nothing of it be kept
 */
export function parseConversation(value: unknown, store: boolean): string | undefined {
  if (isAbsent(value)) return undefined;
  if (!isObject(value) && typeof value !== 'string')
    throw wrongType('conversation', 'string or object', value);
  const id = isObject(value)
    ? parseField(reference, value, 'conversation').id
    : parseField(conversationId, value, 'conversation');
  if (!store) throw invalid('store', "a conversation is kept, so that it excludes 'store: false'");
  return id;
}

/**
 * The `items` that a body adds to a conversation, not yet parsed; none when the field may be left out and is.
 * @throws ApiError naming `items`
 */
export function addedItemsOf(body: unknown, field: 'required' | 'optional'): readonly unknown[] {
  const { items } = bodyOf(body);
  if (isAbsent(items)) {
    if (field === 'required') throw missing('items');
    return [];
  }
  if (!Array.isArray(items)) throw wrongType('items', 'array', items);
  if (items.length > MAX_ADDED_ITEMS)
    throw invalid('items', `at most ${MAX_ADDED_ITEMS} items are taken at a time`);
  return items;
}

/** @throws ApiError naming the item and field */
export function parseAddedItems(values: readonly unknown[]): Item[] {
  return values.map((value, index) => parseItem(value, `items[${index}]`));
}

/**
 * The `metadata` of a conversation: null, or left out where it may be, is none.
 * @throws ApiError naming `metadata`
 */
export function parseConversationMetadata(
  body: unknown,
  field: 'required' | 'optional',
): Record<string, string> {
  const { metadata } = bodyOf(body);
  if (metadata === undefined && field === 'required') throw missing('metadata');
  return parseMetadata(metadata, 'metadata');
}

function bodyOf(body: unknown): Record<string, unknown> {
  if (isObject(body)) return body;
  throw new ApiError('invalid_type', { message: 'The request must be a JSON object.' });
}
