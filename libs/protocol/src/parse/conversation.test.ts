import { describe, expect, it } from '@jest/globals';
import { ApiError } from '../errors.js';
import {
  addedItemsOf,
  parseAddedItems,
  parseConversation,
  parseConversationMetadata,
} from './conversation.js';

function errorOf(parse: () => unknown): ApiError {
  try {
    parse();
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
  throw new Error('the value was taken');
}

describe('the conversation of a request', () => {
  it('is an id or an object with one', () => {
    expect(parseConversation('conv_1', true)).toBe('conv_1');
    expect(parseConversation({ id: 'conv_1', more: 1 }, true)).toBe('conv_1');
    for (const value of [undefined, null]) expect(parseConversation(value, false)).toBeUndefined();
  });

  it.each([
    ['', true, 'invalid_value', 'conversation'],
    [['conv_1'], true, 'invalid_type', 'conversation'],
    [{}, true, 'missing_required_parameter', 'conversation.id'],
    [{ id: 5 }, true, 'invalid_type', 'conversation.id'],
    [{ id: '' }, true, 'invalid_value', 'conversation.id'],
    ['conv_1', false, 'invalid_value', 'store'],
  ])('refuses %j with store %s', (value, store, code, param) => {
    expect(errorOf(() => parseConversation(value, store)).body).toMatchObject({ code, param });
  });
});

describe('what a body adds to a conversation', () => {
  it('is up to twenty items', () => {
    const item = { role: 'user', content: 'a' };
    expect(addedItemsOf({ items: Array(20).fill(item) }, 'required')).toHaveLength(20);
    expect(addedItemsOf({ items: null }, 'optional')).toEqual([]);
    expect(parseAddedItems([item])).toMatchObject([{ type: 'message', role: 'user' }]);
  });

  it.each([
    [5, 'optional', 'invalid_type', null],
    [[], 'optional', 'invalid_type', null],
    [{}, 'required', 'missing_required_parameter', 'items'],
    [{ items: {} }, 'optional', 'invalid_type', 'items'],
    [{ items: Array(21).fill(0) }, 'optional', 'invalid_value', 'items'],
  ] as const)('is refused as %j (%s)', (body, field, code, param) => {
    expect(errorOf(() => addedItemsOf(body, field)).body).toMatchObject({ code, param });
  });

  it('names the item at fault', () => {
    expect(errorOf(() => parseAddedItems([{ role: 'user', content: 'a' }, 5])).param).toBe('items[1]');
  });
});

describe('the metadata of a conversation', () => {
  it('may be null, and left out where it is not what the request is about', () => {
    expect(parseConversationMetadata({ metadata: { a: 'b' } }, 'required')).toEqual({ a: 'b' });
    expect(parseConversationMetadata({ metadata: null }, 'required')).toEqual({});
    expect(parseConversationMetadata({}, 'optional')).toEqual({});
    expect(errorOf(() => parseConversationMetadata({}, 'required')).body).toMatchObject({
      code: 'missing_required_parameter',
      param: 'metadata',
    });
  });
});
