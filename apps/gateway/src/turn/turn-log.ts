import type { ApiError, ResponseObject } from '@turnpike/protocol';
import type { PrefixReuse } from '@turnpike/rendering';
import type { TurnContext, TurnLifecycle } from '@turnpike/turns';
import { log } from '../log.js';

export interface FinishedTurn {
  readonly turn: TurnContext;
  readonly response: ResponseObject;
  readonly transport: 'websocket' | 'http' | 'background';
  /** The engine that answered, by its name. */
  readonly engine: string | undefined;
  readonly lifecycle: TurnLifecycle;
  readonly failure: ApiError | undefined;
  /** What became of the prompt and the output before this turn; undefined where there were none. */
  readonly prefix: PrefixReuse | undefined;
}

/** One line a turn: counts and times, and never a word of what was said. */
export function logTurn({
  turn,
  response,
  transport,
  engine,
  lifecycle,
  failure,
  prefix,
}: FinishedTurn): void {
  const line = {
    response: response.id,
    tenant: turn.tenant,
    transport,
    model: response.model,
    engine,
    status: response.status,
    input_tokens: response.usage?.input_tokens,
    cached_tokens: response.usage?.input_tokens_details.cached_tokens,
    output_tokens: response.usage?.output_tokens,
    prefix,
    dropped_tools: response.turnpike?.dropped_tools,
    states: lifecycle.trace,
    stages_us: Object.fromEntries(turn.timings),
    work: Object.fromEntries(turn.work),
  };
  if (failure !== undefined && failure.status >= 500) {
    log.error({ ...line, err: failure.cause ?? failure }, 'turn failed');
  } else if (failure?.code === 'context_length_exceeded' && failure.cause !== undefined) {
    // What was sent fits into the context of the configuration: otherwise it would have been refused here, without a cause.
    log.warn(line, 'the engine holds less than this: is contextTokens of the model right?');
  } else {
    log.debug(line, 'turn ended');
  }
}
