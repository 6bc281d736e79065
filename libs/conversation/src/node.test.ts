import { describe, expect, it } from '@jest/globals';
import { createNode, estimateBytes, historyOf, type ResponseNode } from './node.js';
import { message, node, textOf } from './testing/nodes.js';

describe('createNode', () => {
  it('knows its place in the tree and cannot be changed', () => {
    const root = node('a', undefined, { ownBytes: 5 });
    const child = node('b', root, { ownBytes: 7 });
    expect([root.depth, root.chainBytes, child.depth, child.chainBytes]).toEqual([0, 5, 1, 12]);
    expect(Object.isFrozen(child)).toBe(true);
  });

  it("refuses another tenant's parent", () => {
    expect(() => createNode({ ...node('b'), tenant: 'other', parent: node('a') })).toThrow('another tenant');
  });
});

describe('historyOf', () => {
  it('lists the items of a branch from the root on', () => {
    const root = node('a');
    node('elsewhere', root);
    expect(historyOf(node('b', root)).map(textOf)).toEqual(['a in', 'a out', 'b in', 'b out']);
    expect(historyOf(undefined)).toEqual([]);
  });

  it('D12: walks a chain of 100,000 responses', () => {
    const [root, leaf] = longChain(100_000);
    expect(leaf.depth).toBe(100_000);
    const history = historyOf(leaf);
    expect(history).toHaveLength(200_002);
    expect(history[0]).toBe(root.input[0]);
  });
});

function longChain(depth: number): [ResponseNode, ResponseNode] {
  const root = node('root');
  let leaf = root;
  for (let index = 0; index < depth; index += 1) leaf = createNode({ ...root, parent: leaf });
  return [root, leaf];
}

describe('estimateBytes', () => {
  it('grows with text and with sampled ids', () => {
    const base = estimateBytes([message('')]);
    expect(estimateBytes([message('x'.repeat(1000))])).toBe(base + 2000);
    const sampled = { format: 'f', ids: new Int32Array(100) };
    expect(estimateBytes([{ ...message(''), sampled }])).toBeGreaterThanOrEqual(base + 400);
    expect(estimateBytes([])).toBe(0);
    expect(estimateBytes([{ user: 'x'.repeat(1000), metadata: { a: 'y'.repeat(500) } }])).toBeGreaterThan(
      3000,
    );
  });
});
