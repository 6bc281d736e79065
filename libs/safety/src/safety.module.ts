import { Module, type DynamicModule, type ModuleMetadata, type Type } from '@nestjs/common';
import type { ClassifierStrategy } from './classifier.js';

/** Injection token of the classifier that is asked about what the rules let through. */
export const CLASSIFIER = Symbol('ClassifierStrategy');

export interface SafetyModuleOptions extends Pick<ModuleMetadata, 'imports' | 'providers'> {
  /** A provider: it may have others injected. It takes the place of `safety.classifier` in the configuration. */
  readonly classifier?: Type<ClassifierStrategy> | undefined;
}

/** Where a classifier of one's own comes in: `SafetyModule.register({ classifier: MyClassifier })`. */
@Module({})
export class SafetyModule {
  static register({ classifier, imports = [], providers = [] }: SafetyModuleOptions = {}): DynamicModule {
    const own =
      classifier === undefined
        ? { provide: CLASSIFIER, useValue: undefined }
        : { provide: CLASSIFIER, useClass: classifier };
    return { module: SafetyModule, imports, providers: [...providers, own], exports: [CLASSIFIER] };
  }
}
