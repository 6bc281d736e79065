import { createHash } from 'node:crypto';
import type { ClassifierRequest, ClassifierStrategy } from '../classifier.js';
import type { Verdict } from '../verdict.js';

export interface CascadeOptions {
  /** The costly one. */
  readonly classifier: ClassifierStrategy;
  /** Share of what the rules find nothing in that is asked about all the same, 0 to 1. */
  readonly sample: number;
}

/** Rules on everything, a classifier on what they find suspicious and on a share of the rest. */
export class Cascade implements ClassifierStrategy {
  readonly name: string;
  readonly version: string;
  readonly #options: CascadeOptions;

  constructor(options: CascadeOptions) {
    const { classifier, sample } = options;
    this.name = classifier.name;
    this.version = JSON.stringify([classifier.version, 'suspicion', sample]);
    this.#options = options;
  }

  get available(): boolean {
    return this.#options.classifier.available !== false;
  }

  classify(request: ClassifierRequest): Verdict | Promise<Verdict> {
    const { classifier, sample } = this.#options;
    const isAsked = request.findings.length > 0 || shareOf(request.chain) < sample;
    return isAsked ? classifier.classify(request) : { action: 'pass', categories: [] };
  }
}

/** A number from 0 to 1 that belongs to a chain: the same chain is always in the sample, or never. */
function shareOf(chain: string): number {
  return createHash('sha256').update(`sample ${chain}`).digest().readUInt32BE() / 2 ** 32;
}
