/** What the choice of a sequence looks at. */
export interface Candidate {
  /** What the sequence holds. */
  readonly tokens: readonly number[];
  /** Length of the prompt that its conversation began with. */
  readonly opening: number;
  /** Only prompts of the same salt may find anything in it. */
  readonly salt: string;
}

/** A sequence for a prompt, and how much of the prompt it holds already. */
export interface Choice<C> {
  readonly candidate: C;
  /** Tokens of the prompt, from its start, that need not be evaluated. */
  readonly keep: number;
}

/**
 * The sequence that a prompt is evaluated in.
 *
 * A prompt that goes on, or branches off, behind the opening of a kept conversation takes its sequence: what it shares is
 * kept, what follows is cut off. One that shares less is another conversation (two that have their system prompt in
 * common, say): it takes an empty sequence while there is one, so that conversations side by side do not throw each other
 * out. When all are in use, of those that share about as much as the best the one used least recently is taken.
 * @param idle the sequences that nobody generates into, least recently used first
 */
export function chooseSequence<C extends Candidate>(
  idle: readonly C[],
  prompt: readonly number[],
  salt: string,
): Choice<C> | undefined {
  const choices = idle.map((candidate) => {
    const shared = candidate.salt === salt ? commonLength(candidate.tokens, prompt) : 0;
    // The last token is evaluated in any case: the first one of the output is sampled after it.
    return { candidate, shared, keep: Math.min(shared, prompt.length - 1) };
  });
  const best = choices.reduce<(typeof choices)[number] | undefined>(
    (before, choice) => (before && before.shared >= choice.shared ? before : choice),
    undefined,
  );
  if (!best) return undefined;
  const { candidate, shared } = best;
  if (shared > 0 && shared >= Math.min(candidate.opening, prompt.length)) return best;
  const empty = choices.find((choice) => choice.candidate.tokens.length === 0);
  return empty ?? choices.find((choice) => choice.shared * 2 >= shared);
}

function commonLength(a: readonly number[], b: readonly number[]): number {
  const limit = Math.min(a.length, b.length);
  let length = 0;
  while (length < limit && a[length] === b[length]) length++;
  return length;
}
