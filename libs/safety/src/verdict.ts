import { ApiError } from '@turnpike/protocol';
import type { Category, ItemKind } from './categories.js';
import type { Encoding } from './rule-set.js';
import type { Hiding } from './hidden.js';

/** What is known of a chain: that nothing in it is to be blocked, that something is, or nothing, as no classifier answered. */
export type SafetyOutcome = 'passed' | 'blocked' | 'unchecked';

/** Something that a rule or a classifier found. */
export interface Finding {
  /** `PACK/RULE`, or the name of the classifier. */
  readonly by: string;
  readonly category: Category;
  readonly action: 'flag' | 'block';
  readonly kind: ItemKind;
  /** Path of the field in the request. */
  readonly path: string;
  /** How it was written, or hidden. */
  readonly how: Encoding | Hiding;
}

/** What a classifier says of a text. */
export interface Verdict {
  readonly action: 'pass' | 'flag' | 'block';
  readonly categories: readonly Category[];
}

/** The input holds something that must not reach a model. */
export class ContentBlocked extends ApiError {
  readonly categories: readonly Category[];

  /** @param param path of the field at fault */
  constructor(categories: readonly Category[], param: string) {
    super('content_blocked', {
      param,
      message: `The input was refused by the content policy of this server${named(categories)}.`,
    });
    this.categories = categories;
  }
}

function named(categories: readonly Category[]): string {
  return categories.length === 0 ? '' : ` (${categories.join(', ')})`;
}

/** Seconds after which a client may try again where no classifier could be asked. */
const RETRY_AFTER = 5;

/** No classifier could be asked, and what was not checked must not reach a model. */
export function safetyUnavailable(cause: unknown): ApiError {
  return new ApiError('safety_unavailable', { cause, retryAfter: RETRY_AFTER });
}
