import { expect, it } from '@jest/globals';
import { MemoryResponseStore } from './response-store.js';
import { node } from './testing/nodes.js';

it('finds a response of its tenant until it is deleted', () => {
  const store = new MemoryResponseStore(100);
  const [parent, child] = [node('parent'), node('child', node('parent'))];
  store.save(parent);
  store.save(child);
  expect(store.find('tenant', 'child')).toEqual({
    response: child.response,
    input: child.input.map(({ item }) => item),
  });
  expect(store.find('other', 'child')).toBeUndefined();
  expect(store.load('tenant', 'parent')).toBe(parent);
  expect([store.delete('other', 'parent'), store.delete('tenant', 'parent')]).toEqual([false, true]);
  expect(store.find('tenant', 'parent')).toBeUndefined();
  expect(store.load('tenant', 'child')).toBe(child);
});
