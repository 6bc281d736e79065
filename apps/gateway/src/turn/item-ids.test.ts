import { expect, it } from '@jest/globals';
import { ITEM_TYPES, parseInput } from '@turnpike/protocol';
import { withItemIds } from './item-ids.js';

it('gives every item an id, keeps those of clients, and replaces what repeats', () => {
  const items = parseInput([
    { role: 'user', content: 'a' },
    { role: 'user', content: 'b', id: 'msg_mine' },
    { role: 'user', content: 'c', id: 'msg_mine' },
    { type: 'function_call_output', call_id: 'c1', output: 'x' },
  ]).map((item) => ({ item }));
  const ids = withItemIds(items).map(({ item }) => item.id);
  expect(ids).toEqual([
    expect.stringMatching(/^msg_/),
    'msg_mine',
    expect.stringMatching(/^msg_[0-9a-f]{48}$/),
    expect.stringMatching(/^fco_/),
  ]);
  expect(new Set(ids).size).toBe(4);
  expect(items[0]?.item.id).toBeUndefined();
});

it('knows a prefix for every type of item', () => {
  const items = ITEM_TYPES.map((type) => ({
    item: { type } as Parameters<typeof withItemIds>[0][number]['item'],
  }));
  for (const { item } of withItemIds(items)) expect(item.id).toMatch(/^[a-z]+_[0-9a-f]{48}$/);
});
