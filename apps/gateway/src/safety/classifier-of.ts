import {
  Cascade,
  ChatGuard,
  LLAMA_GUARD,
  ModerationsClassifier,
  safeguard,
  type ClassifierStrategy,
} from '@turnpike/safety';
import type { ClassifierConfig } from '../config/classifier-schema.js';
import { ConfigError } from '../config/load.js';

/**
 * The classifier that the configuration names.
 * @throws ConfigError when the variable of its key is not set
 */
export function classifierOf(
  config: ClassifierConfig,
  environment: NodeJS.ProcessEnv = process.env,
): ClassifierStrategy {
  const classifier = adapterOf(config, keyOf(config, environment));
  return config.asks === 'suspicion' ? new Cascade({ classifier, sample: config.sample }) : classifier;
}

function adapterOf(config: ClassifierConfig, apiKey: string | undefined): ClassifierStrategy {
  switch (config.kind) {
    case 'moderations':
      return new ModerationsClassifier({ ...config, apiKey });
    case 'llama-guard':
      return new ChatGuard({ ...config, apiKey, dialect: LLAMA_GUARD });
    case 'safeguard':
      return new ChatGuard({ ...config, apiKey, dialect: safeguard(config.policy) });
  }
}

function keyOf({ apiKeyVariable }: ClassifierConfig, environment: NodeJS.ProcessEnv): string | undefined {
  if (apiKeyVariable === undefined) return undefined;
  const key = environment[apiKeyVariable];
  if (key === undefined || key === '') {
    throw new ConfigError(
      `safety.classifier.apiKeyVariable: ${apiKeyVariable} is not set in the environment`,
    );
  }
  return key;
}
