import { describe, expect, it } from '@jest/globals';
import { ApiError } from '@turnpike/protocol';
import { ConnectionCache } from './connection-cache.js';
import { resolveParent, type ParentSource } from './parent.js';
import { MemoryResponseStore } from './response-store.js';
import { node } from './testing/nodes.js';

describe('ConnectionCache', () => {
  it('keeps the latest response of each lane, and older ones while they fit', () => {
    const cache = new ConnectionCache('tenant', 3);
    const has = (id: string) => cache.load('tenant', id) !== undefined;
    cache.add(node('a1'), 'a');
    cache.add(node('a2'), 'a');
    cache.add(node('d1'), undefined);
    expect([has('a1'), has('a2'), has('d1'), cache.size]).toEqual([true, true, true, 3]);
    cache.add(node('d2'), undefined);
    expect([has('a1'), has('a2'), has('d1'), has('d2')]).toEqual([false, true, true, true]);
    cache.add(node('b1'), 'b');
    expect([has('a2'), has('d1'), has('d2'), has('b1'), cache.retainedBytes]).toEqual([
      true,
      false,
      true,
      true,
      3,
    ]);
  });

  it('evicts the parent of a continuation that failed in its own lane, not that of a fork in another', () => {
    const cache = new ConnectionCache('tenant', 100);
    cache.add(node('named'), 'a');
    cache.add(node('default'), undefined);
    expect(cache.failed('named', undefined)).toBe(false);
    expect(cache.failed('named', 'b')).toBe(false);
    expect(cache.failed('default', 'a')).toBe(false);
    expect(cache.size).toBe(2);
    expect(cache.failed('named', 'a')).toBe(true);
    expect(cache.failed('default', undefined)).toBe(true);
    expect(cache.size).toBe(0);
    expect(cache.failed('unknown', undefined)).toBe(false);
  });

  it('keeps a child whose parent was evicted', () => {
    const cache = new ConnectionCache('tenant', 100);
    const parent = node('parent', undefined, { ownBytes: 10 });
    cache.add(parent, 'a');
    cache.add(node('child', parent), 'b');
    cache.failed('parent', 'a');
    expect(cache.load('tenant', 'parent')).toBeUndefined();
    expect(cache.load('tenant', 'child')?.parent).toBe(parent);
    expect(cache.retainedBytes).toBe(11);
  });

  it('is of one tenant', () => {
    const cache = new ConnectionCache('tenant', 100);
    cache.add(node('a'), undefined);
    expect(cache.load('other', 'a')).toBeUndefined();
    expect(() => cache.add(node('b', undefined, { tenant: 'other' }), undefined)).toThrow('own tenant');
    cache.clear();
    expect(cache.load('tenant', 'a')).toBeUndefined();
  });
});

describe('MemoryResponseStore', () => {
  it('saves, loads and deletes for the tenant, within its budget', () => {
    const store = new MemoryResponseStore(2);
    for (const id of ['a', 'b', 'c']) store.save(node(id));
    expect(store.load('tenant', 'a')).toBeUndefined();
    expect(store.load('tenant', 'b')?.id).toBe('b');
    expect(store.load('other', 'b')).toBeUndefined();
    expect([store.delete('other', 'b'), store.delete('tenant', 'b'), store.delete('tenant', 'b')]).toEqual([
      false,
      true,
      false,
    ]);
    expect(store.load('tenant', 'b')).toBeUndefined();
  });
});

describe('resolveParent', () => {
  const cached = node('cached');
  const stored = node('stored');
  const cache = new ConnectionCache('tenant', 10);
  cache.add(cached, undefined);
  const store = new MemoryResponseStore(10);
  store.save(stored);
  const remote: ParentSource = { load: async (tenant, id) => store.load(tenant, id) };
  const notFound = (id: string) =>
    new ApiError('previous_response_not_found', { message: `Previous response with id '${id}' not found.` });

  it('asks the connection before the store, and waits only for a source that has to be waited for', async () => {
    expect(resolveParent('tenant', 'cached', [cache, remote])).toBe(cached);
    expect(resolveParent('tenant', 'stored', [cache, store])).toBe(stored);
    const waited = resolveParent('tenant', 'stored', [cache, remote]);
    expect(waited).toBeInstanceOf(Promise);
    expect(await waited).toBe(stored);
    expect(await resolveParent('tenant', 'cached', [remote, cache])).toBe(cached);
  });

  it('says the same of an unknown id and of another tenant’s', async () => {
    expect(() => resolveParent('tenant', 'x', [cache, store])).toThrow(notFound('x'));
    expect(() => resolveParent('other', 'cached', [cache, store])).toThrow(notFound('cached'));
    expect(() => resolveParent('tenant', 'x'.repeat(2_000_000), [cache])).toThrow(
      notFound('(2000000 characters)'),
    );
    await expect(resolveParent('other', 'stored', [cache, remote])).rejects.toMatchObject({
      code: 'previous_response_not_found',
      param: 'previous_response_id',
      status: 400,
      message: "Previous response with id 'stored' not found.",
    });
  });
});
