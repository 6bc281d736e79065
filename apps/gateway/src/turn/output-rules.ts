import type { AssembledItem } from '@turnpike/assembly';
import {
  isCallHeader,
  type CallHeader,
  type CallTarget,
  type Opening,
  type OutputEvent,
  type OutputHeader,
} from '@turnpike/formats';
import { ApiError, type MessageItem } from '@turnpike/protocol';
import type { AnswerCheck, ToolRule } from '@turnpike/validation';

export interface OutputRulesOptions {
  readonly tools: ToolRule;
  /** Whether the answer has to be sampled by itself, because a grammar binds it. */
  readonly bindsAnswer: boolean;
  /** Whether the model may reason before it does what it is made to do. */
  readonly reasons: boolean;
  /** Whether the client has given new input, so that the output is to end at the next message. */
  readonly steered?: (() => boolean) | undefined;
}

/** Why a message is not let through. */
type Refusal =
  /** As many calls as there may be have been made. */
  | 'enough'
  /** A call that the request does not allow. */
  | 'unasked'
  /** Something else, where there has to be a call. */
  | 'uncalled'
  /** An answer that no grammar bound. */
  | 'unbound'
  /** Anything, once the client has given new input. */
  | 'steered';

/**
 * Keeps an output within what its request allows, message by message. A message that must not be is not begun: sampling
 * stops before it, nothing of it is delivered or kept, and where the request still lacks something, the model goes on
 * behind an opening that leaves it no choice. That happens once in a response.
 */
export class OutputRules {
  readonly #options: OutputRulesOptions;
  #opening: Opening | undefined;
  /** Whether the next message is the one that the prompt has opened as a call. */
  #awaitsCall = false;
  #open: OutputHeader | undefined;
  #calls = 0;
  #answered = false;
  #refusal: Refusal | undefined;
  #steered = false;

  constructor(options: OutputRulesOptions) {
    this.#options = options;
  }

  /** Whether the output was ended for new input of the client. */
  get steered(): boolean {
    return this.#steered;
  }

  /** What the first generation is made to begin with; undefined leaves it to the model. */
  first(): Opening | undefined {
    const { tools, bindsAnswer, reasons } = this.#options;
    if (reasons) return undefined;
    if (tools.required) return this.#begin(this.#callOpening());
    return bindsAnswer && tools.allowed.length === 0 ? this.#begin({ kind: 'answer' }) : undefined;
  }

  /** The events that may be delivered, and whether sampling has to stop behind them. */
  take(events: readonly OutputEvent[]): { passed: readonly OutputEvent[]; stop: boolean } {
    for (const [index, event] of events.entries()) {
      if (event.kind === 'open') {
        this.#refusal = this.#refuse(event.header);
        this.#steered ||= this.#refusal === 'steered';
        if (this.#refusal !== undefined) return { passed: events.slice(0, index), stop: true };
        this.#awaitsCall = false;
        this.#open = event.header;
      } else if (event.kind === 'close' && event.complete && this.#open !== undefined) {
        if (isCallHeader(this.#open)) this.#calls++;
        else if (isAnswer(this.#open)) this.#answered = true;
      }
    }
    return { passed: events, stop: false };
  }

  /**
   * Behind an output that ended by itself or was stopped: what the model is made to write next, undefined when the
   * response has all that it needs.
   * @throws ApiError tool_call_missing when it was made to call a tool and did not
   */
  next(): Opening | undefined {
    const refusal = this.#refusal;
    this.#refusal = undefined;
    if (this.#options.tools.required && this.#calls === 0) {
      if (this.#opening !== undefined) throw new ApiError('tool_call_missing');
      return this.#begin(this.#callOpening());
    }
    if (this.#opening !== undefined || this.#calls > 0 || this.#answered) return undefined;
    return refusal === undefined ? undefined : this.#begin({ kind: 'answer' });
  }

  #begin(opening: Opening): Opening {
    this.#opening = opening;
    this.#awaitsCall = opening.kind === 'call';
    return opening;
  }

  #callOpening(): Opening {
    const { allowed } = this.#options.tools;
    return { kind: 'call', targets: allowed === 'any' ? [] : allowed };
  }

  #refuse(header: OutputHeader): Refusal | undefined {
    const { tools, bindsAnswer, steered } = this.#options;
    // Calls that have been made belong together with those beside them: the client answers them all.
    if (this.#calls === 0 && steered?.() === true) return 'steered';
    if (this.#calls > 0 && this.#calls >= tools.maxCalls) return 'enough';
    if (isCallHeader(header)) return tools.maxCalls > 0 && this.#allows(header) ? undefined : 'unasked';
    if (this.#awaitsCall) return 'uncalled';
    if (!isAnswer(header) || this.#calls > 0) return undefined;
    if (tools.required) return 'uncalled';
    return bindsAnswer && this.#opening === undefined ? 'unbound' : undefined;
  }

  #allows(call: CallHeader): boolean {
    const { allowed } = this.#options.tools;
    const type = TOOL_OF[call.type];
    return (
      allowed === 'any' ||
      allowed.some(
        (tool) => tool.type === type && tool.name === call.name && tool.namespace === call.namespace,
      )
    );
  }
}

/**
 * What is wrong with a completed output that had to answer in a format. An output that calls tools has not answered yet.
 */
export function answerFault(items: readonly AssembledItem[], check: AnswerCheck): ApiError | undefined {
  const outputs = items.map(({ item }) => item);
  if (outputs.some(({ type }) => type in TOOL_OF)) return undefined;
  const answers = outputs.filter(
    (item): item is MessageItem => item.type === 'message' && item.phase === 'final_answer',
  );
  const faults = answers.flatMap((answer) => check(textOf(answer)) ?? []);
  const fault = answers.length === 0 ? 'there is none' : faults[0];
  if (fault === undefined) return undefined;
  return new ApiError('invalid_answer', {
    message: `The model's answer is not what 'text.format' asks for: ${fault}.`,
    // The message may name fields of the client's schema, which have no place in a log.
    cause: new Error('the answer is not what the request asks for'),
  });
}

/** Type of the tool that each kind of call is of. */
const TOOL_OF = {
  function_call: 'function',
  custom_tool_call: 'custom',
  tool_search_call: 'tool_search',
} as const satisfies Record<CallHeader['type'], CallTarget['type']>;

function isAnswer(header: OutputHeader): boolean {
  return header.type === 'message' && header.phase === 'final_answer';
}

function textOf({ content }: MessageItem): string {
  return content.map((part) => (part.type === 'output_text' ? part.text : '')).join('');
}
