import type { ResponseObject } from '@turnpike/protocol';
import type { Artifacts, TurnItem } from '@turnpike/turns';

/** A response as its descendants see it: what it added to the chain. */
export interface ChainNode {
  readonly id: string;
  readonly tenant: string;
  readonly parent: ChainNode | undefined;
  /** Number of ancestors. */
  readonly depth: number;
  /** Items this turn added to the chain. */
  readonly input: readonly TurnItem[];
  /** What the model wrote. */
  readonly output: readonly TurnItem[];
  /** Absent in an ancestor that came back from a store: only its items were read. */
  readonly response?: ResponseObject;
  readonly artifacts: Artifacts;
  /** Memory this node adds to what its parent already holds, in bytes. An estimate, and the unit of cache budgets. */
  readonly ownBytes: number;
  /** `ownBytes` of this node and all its ancestors: what it retains when nothing else is kept. */
  readonly chainBytes: number;
}

/** One response of a conversation tree. Immutable: what follows it is a child, and every fork shares it. */
export interface ResponseNode extends ChainNode {
  readonly response: ResponseObject;
}

/** @throws Error when the parent is another tenant's */
export function createNode(fields: Omit<ResponseNode, 'depth' | 'chainBytes'>): ResponseNode;
export function createNode(fields: Omit<ChainNode, 'depth' | 'chainBytes'>): ChainNode;
export function createNode(fields: Omit<ChainNode, 'depth' | 'chainBytes'>): ChainNode {
  const { parent, tenant, ownBytes } = fields;
  if (parent !== undefined && parent.tenant !== tenant) {
    throw new Error('A response cannot continue a response of another tenant.');
  }
  const depth = parent === undefined ? 0 : parent.depth + 1;
  return Object.freeze({ ...fields, depth, chainBytes: (parent?.chainBytes ?? 0) + ownBytes });
}

/** Every item from the root to `node`, its own included; none without a node. O(history). */
export function historyOf(node: ChainNode | undefined): TurnItem[] {
  const path: ChainNode[] = [];
  for (let at = node; at !== undefined; at = at.parent) path.push(at);
  return path.reverse().flatMap(({ input, output }) => [...input, ...output]);
}

const BYTES_PER_OBJECT = 56;
const BYTES_PER_CHARACTER = 2;
const BYTES_PER_SCALAR = 8;

/** Estimated memory of values and all they hold, in bytes, from above rather than from below. O(their size). */
export function estimateBytes(values: readonly unknown[]): number {
  let bytes = 0;
  const open: unknown[] = [...values];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === 'string') bytes += value.length * BYTES_PER_CHARACTER;
    else if (ArrayBuffer.isView(value)) bytes += BYTES_PER_OBJECT + value.byteLength;
    else if (typeof value !== 'object' || value === null) bytes += BYTES_PER_SCALAR;
    else {
      bytes += BYTES_PER_OBJECT;
      for (const field of Object.values(value)) open.push(field);
    }
  }
  return bytes;
}
