import type { Ending } from '@turnpike/assembly';
import type { Outcome, TurnMeter } from '@turnpike/metering';
import type { Usage } from '@turnpike/protocol';
import type { TurnContext } from '@turnpike/turns';

/** What an engine's answer is metered with while it is read. */
export type SamplingMeter = Pick<
  TurnMeter,
  'requested' | 'take' | 'counted' | 'clamped' | 'finished' | 'isExhausted'
>;

/**
 * Writes down what a turn costs, however it ended.
 * @param gone whether its client is
 * @returns whether there was anything to write down
 */
export function settle(
  money: TurnMeter,
  turn: TurnContext,
  { ending, usage, gone }: { readonly ending: Ending; readonly usage: Usage; readonly gone: boolean },
): boolean {
  const record = money.settle({
    outcome: outcomeOf(ending, gone),
    reason: reasonOf(ending),
    usage: {
      input: usage.input_tokens,
      output: usage.output_tokens,
      cached: usage.input_tokens_details.cached_tokens,
      cacheWrite: usage.input_tokens_details.cache_write_tokens,
      reasoning: usage.output_tokens_details.reasoning_tokens,
    },
    stages: Object.fromEntries(turn.timings),
  });
  return record !== undefined;
}

function outcomeOf(ending: Ending, gone: boolean): Outcome {
  if (ending.status !== 'incomplete' || ending.reason !== 'interrupted') return ending.status;
  return gone ? 'disconnected' : 'cancelled';
}

function reasonOf(ending: Ending): string | null {
  if (ending.status === 'incomplete') return ending.reason;
  return ending.status === 'failed' ? ending.code : null;
}
