import { describe, expect, it } from '@jest/globals';
import { parseRequest } from '@turnpike/protocol';
import type { TurnItem } from '@turnpike/turns';
import { affinityOf } from './affinity.js';

const said = (text: string, id?: string): TurnItem => ({
  item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }], ...(id && { id }) },
});

function affinity(
  items: TurnItem[],
  {
    history = [],
    tenant = 't',
    ...body
  }: { history?: TurnItem[]; tenant?: string; instructions?: string } = {},
) {
  const request = parseRequest({ model: 'm', ...body }, 'websocket');
  return affinityOf({ tenant, request, items, history: () => history });
}

describe('what a chain begins with', () => {
  it('is the same in each of its turns, however it is sent', () => {
    const first = affinity([said('a'), said('b')]);
    expect(affinity([said('c')], { history: [said('a', 'msg_1'), said('b')] })).toBe(first);
    expect(affinity([said('a', 'msg_2'), said('b'), said('c')])).toBe(first);
  });

  it.each([
    ['another first item', affinity([said('b')])],
    ['none', affinity([])],
    ['other instructions', affinity([said('a')], { instructions: 'x' })],
    ['another tenant', affinity([said('a')], { tenant: 'other' })],
  ])('is another with %s', (_, other) => {
    expect(other).not.toBe(affinity([said('a')]));
  });
});
