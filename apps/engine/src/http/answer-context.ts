import { randomUUID } from 'node:crypto';
import { type OutputText } from '../generation/output-text.js';
import { type RequestRecord } from '../generation/stats.js';
import { type CompletionRequest } from './completion-request.js';

/**
 * Longest prompt that is repeated to a client which asks for token ids. vLLM repeats any; that is O(prompt) on the
 * wire and in the client's parser for ids the client has just sent, so a long one is left out here.
 */
const ECHOED_PROMPT_TOKENS = 4096;

/** What both forms of an answer are written from. */
export interface AnswerContext {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
  readonly request: CompletionRequest;
  readonly record: RequestRecord;
  readonly text: OutputText;
  /** Repeated to the client with the first tokens; undefined when it did not ask or the prompt is too long for it. */
  readonly promptIds: Int32Array | undefined;
}

/** The context of one answer by the model of this name. */
export function answerContext(
  model: string,
  prompt: Int32Array,
  given: Pick<AnswerContext, 'request' | 'record' | 'text'>,
): AnswerContext {
  return {
    id: `cmpl-${randomUUID()}`,
    created: Math.floor(Date.now() / 1000),
    model,
    promptIds: given.request.returnTokenIds && prompt.length < ECHOED_PROMPT_TOKENS ? prompt : undefined,
    ...given,
  };
}
