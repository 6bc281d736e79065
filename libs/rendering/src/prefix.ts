import type { Rendered } from './rendered.js';

/** What became of a prompt and its output in the prompt that follows them. */
export interface PrefixReuse {
  /** Tokens at the front that the next prompt begins with as well: an engine finds them in its cache. */
  readonly kept: number;
  /** Tokens behind those, which it has to read again, or which are gone. */
  readonly rewound: number;
}

/** Compares a chain with itself a turn earlier. O(what is not kept). */
export function prefixReuse(before: Rendered, now: Rendered): PrefixReuse {
  const length = before.head.tokens.length + before.body.length;
  if (before.format !== now.format || before.head !== now.head) return { kept: 0, rewound: length };
  const kept = now.head.tokens.length + now.body.sharedLength(before.body);
  return { kept, rewound: length - kept };
}
