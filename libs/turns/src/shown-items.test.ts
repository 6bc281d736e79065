import { describe, expect, it } from '@jest/globals';
import type { Item } from '@turnpike/protocol';
import { lastStart, shownItems } from './shown-items.js';
import type { TurnItem } from './turn.js';

const said = (text: string): Item => ({
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text }],
});
const sealed = (replaces: boolean, ...items: Item[]): TurnItem => ({
  item: { type: 'compaction', encrypted_content: 'x' },
  expansion: { items, replaces },
});
const [a, b, c] = ['a', 'b', 'c'].map((text): TurnItem => ({ item: said(text) })) as [
  TurnItem,
  TurnItem,
  TurnItem,
];

describe('shownItems', () => {
  it('shows plain items as they are, the same array', () => {
    const entries = [a, b];
    expect(shownItems(entries)).toEqual({ startsAnew: false, entries });
    expect(shownItems(entries).entries).toBe(entries);
    expect(shownItems([])).toEqual({ startsAnew: false, entries: [] });
  });

  it('shows what a sealed item stands for in its place', () => {
    const { startsAnew, entries } = shownItems([a, sealed(false, said('x'), said('y')), b]);
    expect(startsAnew).toBe(false);
    expect(entries).toEqual([a, { item: said('x') }, { item: said('y') }, b]);
  });

  it('starts anew at the last one that stands for everything before it', () => {
    const entries = [a, sealed(true, said('old')), b, sealed(true, said('new')), c, sealed(false)];
    expect(shownItems(entries)).toEqual({ startsAnew: true, entries: [{ item: said('new') }, c] });
    expect(lastStart(entries)).toBe(3);
    expect(lastStart([a, sealed(false)])).toBe(-1);
  });
});
