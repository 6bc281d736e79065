/** What the choice of a sequence looks at. */
export interface Candidate {
  /** What the sequence holds. */
  readonly tokens: readonly number[];
  /** Length of the prompt that its conversation began with. */
  readonly opening: number;
  /** Only prompts of the same salt may find anything in it. */
  readonly salt: string;
  /** Whether its last output came to its end, so that a client may go on from it. */
  readonly settled: boolean;
}

/** A sequence for a prompt, and how much of the prompt it is to hold already. */
export interface Choice<C> {
  readonly candidate: C;
  /** Tokens of the prompt, from its start, that need not be evaluated. */
  readonly keep: number;
  /** Where these tokens are to be copied from; undefined when the sequence holds them itself. */
  readonly source?: C | undefined;
}

/** The sequences that can be had. */
export interface Sequences<C> {
  /** Those that nobody generates into, least recently used first. */
  readonly idle: readonly C[];
  /** Those that will be idle in a moment. */
  readonly leaving?: readonly C[];
  /** Whether one can be copied into another. */
  readonly copies: boolean;
}

/**
 * The sequence that a prompt is evaluated in.
 *
 * A prompt that goes on, or branches off, behind the opening of a kept conversation takes its sequence: what it shares is
 * kept, what follows is cut off. Where what follows is an output that somebody may still go on from, the shared part is
 * copied into another sequence instead, if one holds less that would have to be evaluated again.
 *
 * A prompt that shares less is another conversation (two that have their system prompt in common, say): it takes an empty
 * sequence while there is one, so that conversations side by side do not throw each other out. When all are in use, of
 * those that share about as much as the best the one used least recently is taken.
 */
export function chooseSequence<C extends Candidate>(
  { idle, leaving = [], copies }: Sequences<C>,
  prompt: readonly number[],
  salt: string,
): Choice<C> | undefined {
  const all = [...idle, ...leaving];
  const choices = all.map((candidate) => {
    const shared = candidate.salt === salt ? commonLength(candidate.tokens, prompt) : 0;
    // The last token is evaluated in any case: the first one of the output is sampled after it.
    return { candidate, shared, keep: Math.min(shared, prompt.length - 1) };
  });
  const best = choices.reduce<(typeof choices)[number] | undefined>(
    (before, choice) => (before && before.shared >= choice.shared ? before : choice),
    undefined,
  );
  if (!best) return undefined;
  const { candidate, shared, keep } = best;
  if (shared > 0 && shared >= Math.min(candidate.opening, prompt.length)) {
    const lost = candidate.tokens.length - shared;
    const other =
      copies && candidate.settled && lost > 0
        ? idle.find((each) => each !== candidate && worthOf(each, all) < lost)
        : undefined;
    return other ? { candidate: other, keep, source: candidate } : { candidate, keep };
  }
  const empty = choices.find((choice) => choice.candidate.tokens.length === 0);
  return empty ?? choices.find((choice) => choice.shared * 2 >= shared);
}

/** Tokens that would have to be evaluated again for what a sequence holds: those that no other one holds as well. */
function worthOf<C extends Candidate>(candidate: C, all: readonly C[]): number {
  const { tokens, salt } = candidate;
  const others = all.filter((other) => other !== candidate && other.salt === salt);
  return tokens.length - Math.max(0, ...others.map((other) => commonLength(tokens, other.tokens)));
}

function commonLength(a: readonly number[], b: readonly number[]): number {
  const limit = Math.min(a.length, b.length);
  let length = 0;
  while (length < limit && a[length] === b[length]) length++;
  return length;
}
