import type { FinishReason } from '../../format.js';
import type { TurnGrammar } from '../../output/turn-grammar.js';

/** An output of a family, and the messages that are read from it. */
export interface Golden {
  readonly family: string;
  readonly grammar: TurnGrammar;
  /** What the prompt has opened. */
  readonly opened?: string;
  /** Whether it means this only where its markers are control tokens: as text, some of them stay text. */
  readonly needsControls?: boolean;
  readonly output: string;
  readonly reason?: FinishReason;
  /** In short: see `brief` of the parser's tests. */
  readonly messages: readonly (readonly string[])[];
}

/** What the prompt of a ChatML model ends with. */
export const CHATML_OPENED = '<|im_start|>assistant\n';
