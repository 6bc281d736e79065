import type { Ending } from '@turnpike/assembly';
import type { ApiError, ResponseSafety, Usage } from '@turnpike/protocol';
import type { Artifacts, TurnContext, TurnItem } from '@turnpike/turns';

/** What a response ended as, before it is committed. */
export interface Answered {
  readonly ending: Ending;
  readonly usage: Usage;
  /** Set when the engine or its model is to blame. */
  readonly failure?: ApiError | undefined;
  /** Undefined when preparation did not get that far, and nothing can follow. */
  readonly chain?: AnsweredChain | undefined;
  /** What was made of the content policy; undefined where none is applied. */
  readonly safety?: ResponseSafety | undefined;
}

/** A chain with all but the last of an output in it. */
export interface AnsweredChain {
  /** The last step that was folded. */
  readonly turn: TurnContext;
  readonly artifacts: Artifacts;
  /** What was folded behind the input: what the model wrote, and between it what the client answered. */
  readonly output: readonly TurnItem[];
  /** Items of the assembler among those. */
  readonly folded: number;
}
