import { describe, expect, it } from '@jest/globals';
import { parseItem } from '@turnpike/protocol';
import { joiningItems } from './conversation-items.js';

function joined(value: object) {
  const [entry] = joiningItems([{ item: parseItem(value, 'items[0]') }]);
  return entry?.item;
}

describe('an item that joins a conversation', () => {
  it('gets an id that nothing else has, whatever it was called', () => {
    const value = { id: 'msg_mine', role: 'user', content: 'a' };
    const [one, other] = [joined(value), joined(value)];
    expect(one?.id).toMatch(/^msg_[0-9a-f]{48}$/);
    expect(one?.id).not.toBe(other?.id);
  });

  it('is completed unless it says otherwise, where items have a status', () => {
    expect(joined({ role: 'user', content: 'a' })).toMatchObject({ status: 'completed' });
    const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '' };
    expect(joined({ ...call, status: 'incomplete' })).toMatchObject({ status: 'incomplete' });
    expect(joined({ type: 'additional_tools', tools: [] })).not.toHaveProperty('status');
  });

  it('keeps what was sampled for it', () => {
    const item = parseItem({ type: 'reasoning', summary: [] }, 'items[0]');
    const sampled = { format: 'harmony', ids: Int32Array.of(1, 2) };
    expect(joiningItems([{ item, sampled }])).toEqual([
      { item: { ...item, id: expect.stringMatching(/^rs_/) }, sampled },
    ]);
  });
});
