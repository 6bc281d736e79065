import type { TextFormat } from '@turnpike/protocol';
import type { Category, ItemKind } from './categories.js';
import { NOTHING_READ, type Carry } from './scanner.js';

/** What safety knows of a chain after a turn. Immutable, and of a bounded size however long the chain is. */
export interface SafetyState {
  /** Version of the policy that all of this was made with. */
  readonly policy: string;
  /** Names the chain: a digest over every text of it. */
  readonly chain: string;
  /** Letters and digits of the chain. */
  readonly units: number;
  /** Where the scan stands: over the whole chain, and over the texts of each kind alone. */
  readonly carries: Readonly<Partial<Record<ItemKind | 'chain', Carry>>>;
  /** By number of a rule that needs several phrases: where each was last seen, -1 for never. */
  readonly near: Readonly<Record<number, readonly number[]>>;
  /** The beginning of the chain, for a head that changes before it. */
  readonly lead: string;
  /** The end of the chain, for classifiers that see more than what is new. */
  readonly window: string;
  /** What was found in the items of the chain. */
  readonly flags: readonly Category[];
  /** Whether some of it was never classified, as no classifier answered. */
  readonly unchecked: boolean;
  readonly head: SafetyHead;
}

/** What stands before the chain and belongs to the request. */
export interface SafetyHead {
  /** Names all of it. */
  readonly digest: string;
  /** What it was made of, so that the same need not be digested again; absent behind a store. */
  readonly key?: HeadKey | undefined;
  /** Behind its last text. */
  readonly carry: Carry;
  readonly flags: readonly Category[];
}

export interface HeadKey {
  readonly instructions: string | undefined;
  readonly toolsKey: string;
  readonly format: TextFormat;
}

/** Characters of a chain's beginning that are kept: longer than what a phrase is expected to be. */
export const LEAD = 256;

export const NO_HEAD: SafetyHead = { digest: '', carry: NOTHING_READ, flags: [] };

export function emptyState(policy: string): SafetyState {
  return {
    policy,
    chain: '',
    units: 0,
    carries: {},
    near: {},
    lead: '',
    window: '',
    flags: [],
    unchecked: false,
    head: NO_HEAD,
  };
}

/** Categories without repetition, in order. The first list where nothing is new. */
export function withFlags(flags: readonly Category[], added: readonly Category[]): readonly Category[] {
  return added.every((flag) => flags.includes(flag)) ? flags : [...new Set([...flags, ...added])].sort();
}
