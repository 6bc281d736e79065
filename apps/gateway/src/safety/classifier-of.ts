import type { ClassifierStrategy } from '@turnpike/safety';
import type { ClassifierConfig } from '../config/classifier-schema.js';

export function classifierOf(_config: ClassifierConfig): ClassifierStrategy {
  throw new Error('adapters');
}
