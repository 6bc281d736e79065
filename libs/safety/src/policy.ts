import { createHash } from 'node:crypto';
import { RULES_ALONE, type ClassifierStrategy } from './classifier.js';
import type { RuleSet } from './rule-set.js';

export interface PolicyOptions {
  readonly rules: RuleSet;
  readonly classifier?: ClassifierStrategy | undefined;
  /** Characters of the chain that a classifier sees before what is new. */
  readonly window: number;
  /** What happens when the classifier does not answer. */
  readonly failure: 'closed' | 'open';
}

/** What input is held against. */
export interface SafetyPolicy extends Required<Omit<PolicyOptions, 'classifier'>> {
  readonly classifier: ClassifierStrategy;
  /** Names everything that a verdict depends on: with it, verdicts are made anew. */
  readonly version: string;
}

export function safetyPolicy({
  rules,
  classifier = RULES_ALONE,
  window,
  failure,
}: PolicyOptions): SafetyPolicy {
  const asks = classifier !== RULES_ALONE;
  const parts = [rules.version, classifier.name, classifier.version, asks ? window : 0];
  const version = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 12);
  return { rules, classifier, window: asks ? window : 0, failure, version };
}
