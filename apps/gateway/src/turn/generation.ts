import type { AssembledItem } from '@turnpike/assembly';
import type { FinishReason, Opening, OutputEvent } from '@turnpike/formats';
import type { MessageFinish } from '@turnpike/inference';
import type { PossibleUsage } from './possible-usage.js';

/** What arrived together from an engine, read. */
export interface GenerationChunk {
  readonly events: readonly OutputEvent[];
  /** Tokens that were sampled for it. */
  readonly sampled: number;
  readonly finish?: MessageFinish | undefined;
  readonly usage?: PossibleUsage | undefined;
}

/** One request to an engine. */
export interface Generation {
  /** Tokens of its prompt. */
  readonly promptTokens: number;
  /** Its output as it comes; leaving the iteration ends the request. @throws ApiError, or what `signal` ended with */
  chunks(signal: AbortSignal): AsyncIterable<GenerationChunk>;
  /** Closes what is open once there are no more chunks. */
  close(reason: FinishReason): readonly OutputEvent[];
}

/** Makes the requests of one response, whatever its engine takes. */
export interface GenerationSource {
  /** Whether tokens of prompts are the engine's to count: those of messages are only estimated here. */
  readonly countsByEngine: boolean;
  /**
   * @param written items of this output, which the model goes on behind
   * @param opening what it is made to write next; undefined leaves it to the model
   * @param maxTokens of the output that may still be sampled
   * @returns undefined when there is no room for a token
   */
  begin(
    written: readonly AssembledItem[],
    opening: Opening | undefined,
    maxTokens: number,
  ): Promise<Generation | undefined>;
}
