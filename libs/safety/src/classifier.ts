import type { Finding, Verdict } from './verdict.js';
import type { VisibleText } from './visible-text.js';

/** What a classifier is asked about. */
export interface ClassifierRequest {
  /** What is new in the chain, in order. Never empty. */
  readonly texts: readonly VisibleText[];
  /** The end of the chain before it, as far as the policy's window reaches. */
  readonly context: string;
  /** What the rules have found in the new texts. */
  readonly findings: readonly Finding[];
  /** Names this chain; the same for the same texts. */
  readonly chain: string;
}

/**
 * Decides about what the rules let through. One that answers at once costs no promise; one that asks somebody else
 * rejects when there is no answer, and the policy says what happens then.
 */
export interface ClassifierStrategy {
  /** Reported as the source of what it finds. */
  readonly name: string;
  /** Changes whenever the same text may be judged differently: chains are then classified anew, once. */
  readonly version: string;
  /** False while asking is known to be useless, as when the last answers did not come. */
  readonly available?: boolean;
  classify(request: ClassifierRequest): Verdict | Promise<Verdict>;
}

/** The default: the rules alone decide. */
export const RULES_ALONE: ClassifierStrategy = {
  name: 'rules',
  version: '1',
  classify: () => ({ action: 'pass', categories: [] }),
};
