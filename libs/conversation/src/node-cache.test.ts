import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createNode, type ChainNode, type ResponseNode } from './node.js';
import { NodeCache } from './node-cache.js';
import { node } from './testing/nodes.js';

describe('NodeCache', () => {
  it("finds a tenant's own responses only", () => {
    const cache = new NodeCache(10);
    const mine = node('a');
    cache.add(mine, 'lane');
    expect(cache.get('tenant', 'a')).toBe(mine);
    expect(cache.get('other', 'a')).toBeUndefined();
    expect(cache.laneOf('tenant', 'a')).toBe('lane');
    expect(cache.laneOf('other', 'a')).toBeUndefined();
    expect(cache.evict('other', 'a')).toBe(false);
    expect(cache.get('tenant', 'a')).toBe(mine);
    expect(cache.evict('tenant', 'a')).toBe(true);
    expect([cache.size, cache.retainedBytes]).toEqual([0, 0]);
  });

  it('charges shared ancestors once, as long as a cached response holds them', () => {
    const cache = new NodeCache(1000);
    const root = node('root', undefined, { ownBytes: 100 });
    const [left, right] = [node('left', root, { ownBytes: 10 }), node('right', root, { ownBytes: 1 })];
    cache.add(left);
    expect(cache.retainedBytes).toBe(110);
    cache.add(right);
    expect(cache.retainedBytes).toBe(111);
    cache.add(root);
    expect(cache.retainedBytes).toBe(111);
    cache.evict('tenant', 'root');
    cache.evict('tenant', 'left');
    expect(cache.retainedBytes).toBe(101);
    cache.evict('tenant', 'right');
    expect(cache.retainedBytes).toBe(0);
  });

  it('evicts what is not the latest of its lane first, the least recently used before others', () => {
    const cache = new NodeCache(4);
    const ids = ['a1', 'a2', 'a3', 'b1', 'c1', 'd1', 'e1'];
    // Looks at what is cached without using it.
    const cached = () => ids.filter((id) => cache.laneOf('tenant', id) !== undefined);
    for (const id of ['a1', 'a2', 'a3']) cache.add(node(id), 'a');
    cache.add(node('b1'), 'b');
    cache.get('tenant', 'a1');
    cache.add(node('c1'), 'c');
    expect(cached()).toEqual(['a1', 'a3', 'b1', 'c1']);
    cache.add(node('d1'), 'd');
    expect(cached()).toEqual(['a3', 'b1', 'c1', 'd1']);
    cache.get('tenant', 'a3');
    cache.add(node('e1'), 'e');
    expect(cached()).toEqual(['a3', 'c1', 'd1', 'e1']);
  });

  it('takes a response without a lane for no latest one', () => {
    const cache = new NodeCache(2);
    cache.add(node('a1'), 'a');
    cache.add(node('free'));
    cache.add(node('b1'), 'b');
    expect(cache.get('tenant', 'free')).toBeUndefined();
    expect(cache.get('tenant', 'a1')).toBeDefined();
  });

  it('does not cache what exceeds the budget alone, and keeps the rest', () => {
    const cache = new NodeCache(10);
    const root = node('root', undefined, { ownBytes: 6 });
    expect(cache.add(root, 'a')).toBe(true);
    expect(cache.add(node('child', root, { ownBytes: 5 }), 'a')).toBe(false);
    expect([cache.size, cache.retainedBytes]).toEqual([1, 6]);
    expect(cache.add(node('fits', undefined, { ownBytes: 10 }), 'b')).toBe(true);
    expect([cache.size, cache.retainedBytes]).toEqual([1, 10]);
  });

  it('takes the same response twice as one', () => {
    const cache = new NodeCache(10);
    const twice = node('a');
    cache.add(twice, 'a');
    cache.add(twice, 'b');
    expect([cache.size, cache.retainedBytes, cache.laneOf('tenant', 'a')]).toEqual([1, 1, 'b']);
    cache.clear();
    expect([cache.size, cache.retainedBytes, cache.get('tenant', 'a')]).toEqual([0, 0, undefined]);
  });

  it('holds and frees a chain of 100,000 responses through its last one', () => {
    const root = node('root');
    let leaf = root;
    for (let index = 0; index < 100_000; index += 1)
      leaf = createNode({ ...root, id: `n${index}`, parent: leaf });
    const cache = new NodeCache(200_000);
    cache.add(leaf, 'a');
    expect(cache.retainedBytes).toBe(100_001);
    cache.evict('tenant', leaf.id);
    expect(cache.retainedBytes).toBe(0);
  });

  it('charges what a recount finds and shows tenants their own, in any order of events', () => {
    fc.assert(fc.property(fc.array(event, { maxLength: 80 }), fc.integer({ min: 0, max: 60 }), runModel), {
      numRuns: 200,
    });
  });
});

const event = fc.record({
  kind: fc.constantFrom('add', 'add', 'add', 'get', 'evict'),
  /** Chooses a node made before: the parent, or the one to get or evict. */
  pick: fc.nat(),
  tenant: fc.constantFrom('t1', 't2'),
  lane: fc.option(fc.constantFrom('x', 'y'), { nil: undefined }),
  ownBytes: fc.nat(12),
});
type Event = typeof event extends fc.Arbitrary<infer E> ? E : never;

/** A cache that recounts everything each time. */
function runModel(events: readonly Event[], budget: number): void {
  const cache = new NodeCache(budget);
  const made: ResponseNode[] = [];
  /** Cached nodes, least recently used first, and the latest id of each lane. */
  let cached: ResponseNode[] = [];
  const latest = new Map<string, ResponseNode>();
  const drop = (node: ResponseNode) => {
    cached = cached.filter((other) => other !== node);
    for (const [lane, of] of latest) if (of === node) latest.delete(lane);
  };

  for (const { kind, pick, tenant, lane, ownBytes } of events) {
    const own = made.filter((other) => other.tenant === tenant);
    const picked = own[pick % (own.length + 1)];
    if (kind === 'add') {
      const added = node(`n${made.length}`, picked, { tenant, ownBytes });
      made.push(added);
      const fits = recount([added]) <= budget;
      expect(cache.add(added, lane)).toBe(fits);
      if (!fits) continue;
      const demoted = lane === undefined ? undefined : latest.get(lane);
      if (demoted) cached = [...cached.filter((other) => other !== demoted), demoted];
      cached.push(added);
      if (lane !== undefined) latest.set(lane, added);
      while (recount(cached) > budget) {
        const others = cached.filter((other) => other !== added);
        const isLatest = (other: ResponseNode) => [...latest.values()].includes(other);
        drop((others.find((other) => !isLatest(other)) ?? others[0]) as ResponseNode);
      }
    } else if (picked) {
      const expected = cached.includes(picked);
      if (kind === 'evict') {
        expect(cache.evict(tenant, picked.id)).toBe(expected);
        drop(picked);
      } else {
        expect(cache.get(tenant, picked.id)).toBe(expected ? picked : undefined);
        if (expected) cached = [...cached.filter((other) => other !== picked), picked];
      }
    }
    expect(cache.size).toBe(cached.length);
    expect(cache.retainedBytes).toBe(recount(cached));
  }
  for (const { id, tenant } of made) {
    expect(cache.get(tenant === 't1' ? 't2' : 't1', id)).toBeUndefined();
    expect(cache.get(tenant, id) !== undefined).toBe(cached.some((other) => other.id === id));
  }
}

/** Bytes of these nodes and their ancestors, each once. */
function recount(nodes: readonly ResponseNode[]): number {
  const held = new Set<ChainNode>();
  for (const node of nodes) for (let at: ChainNode | undefined = node; at; at = at.parent) held.add(at);
  return [...held].reduce((bytes, { ownBytes }) => bytes + ownBytes, 0);
}
