import { readRulePack, RuleSet, safetyPolicy, SafetyStage, type ClassifierStrategy } from '@turnpike/safety';
import { SafetyGate } from '../src/turn/safety-gate.js';

const rules = new RuleSet([readRulePack('default')]);

/** The default policy, as a gateway without configuration has it. */
export function testSafety({
  classifier,
  races = false,
}: { classifier?: ClassifierStrategy; races?: boolean } = {}): { safety: SafetyStage; gate: SafetyGate } {
  const safety = new SafetyStage({
    policy: safetyPolicy({ rules, classifier, window: 100, failure: 'closed' }),
  });
  return { safety, gate: new SafetyGate({ stage: safety, races }) };
}
