import type { Provider } from '@nestjs/common';
import {
  CLASSIFIER,
  OutputScanner,
  readRulePack,
  RulePackError,
  RuleSet,
  safetyPolicy,
  SafetyStage,
  type ClassifierStrategy,
} from '@turnpike/safety';
import { ConfigError } from '../config/load.js';
import type { Config } from '../config/schema.js';
import { CONFIG } from '../tokens.js';
import { SafetyGate } from '../turn/safety-gate.js';
import { classifierOf } from './classifier-of.js';
import { SafetyAudit } from './safety-audit.js';

/** The content policy, as the configuration says. */
export const safetyProviders: Provider[] = [
  { provide: RuleSet, inject: [CONFIG], useFactory: ({ safety }: Config) => rulesOf(safety.packs) },
  { provide: SafetyAudit, inject: [CONFIG], useFactory: ({ safety }: Config) => new SafetyAudit(safety) },
  {
    provide: SafetyStage,
    inject: [CONFIG, RuleSet, CLASSIFIER, SafetyAudit],
    useFactory: (
      { safety }: Config,
      rules: RuleSet,
      own: ClassifierStrategy | undefined,
      audit: SafetyAudit,
    ): SafetyStage => {
      if (safety.input === 'off') return new SafetyStage({ policy: undefined });
      const { failure } = safety;
      const classifier = own ?? (safety.classifier && classifierOf(safety.classifier));
      const window = safety.classifier?.window ?? DEFAULT_WINDOW;
      return new SafetyStage({
        policy: safetyPolicy({ rules, classifier, window, failure }),
        onDecision: (decision) => audit.input(decision),
      });
    },
  },
  {
    provide: SafetyGate,
    inject: [CONFIG, RuleSet, SafetyStage, SafetyAudit],
    useFactory: ({ safety }: Config, rules: RuleSet, stage: SafetyStage, audit: SafetyAudit): SafetyGate =>
      new SafetyGate({
        stage,
        races: safety.input === 'race',
        output: safety.output === 'on' ? () => new OutputScanner(rules) : undefined,
        onOutput: (decision) => audit.output(decision),
      }),
  },
];

/** Characters of the conversation that a classifier of one's own sees before what is new. */
const DEFAULT_WINDOW = 4_000;

/** @throws ConfigError naming the pack and what is wrong with it */
function rulesOf(packs: readonly string[]): RuleSet {
  try {
    return new RuleSet(packs.map(readRulePack));
  } catch (thrown) {
    if (thrown instanceof RulePackError) throw new ConfigError(`safety.packs: ${thrown.message}`);
    throw thrown;
  }
}
