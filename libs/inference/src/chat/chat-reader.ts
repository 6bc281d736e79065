import type { CallTarget, FinishReason, OutputEvent } from '@turnpike/formats';
import type { MessagePhase } from '@turnpike/protocol';
import type { EngineUsage } from '../engine-usage.js';
import { refuseError } from '../engine-errors.js';
import type { MessageChunk, MessageReader } from '../messages.js';
import { countOf, fieldsOf, largestCount, type Fields } from '../read-values.js';
import { saidBy, type Said } from './deltas.js';
import { finishOf } from './finish.js';
import { ReasoningFields } from './reasoning-field.js';
import { callHeader, freeText, messageHeader, OutputWriter, type TokenEstimate } from './output-writer.js';
import { ThinkTags } from './think-tags.js';
import { ToolCalls, type PartialCall } from './tool-calls.js';

export interface ChatReaderOptions {
  /** Tools by the names of their functions. */
  readonly targets: ReadonlyMap<string, CallTarget>;
  readonly estimate: TokenEstimate;
  /** Ids of reasoning that is to go back in the field with this name; by default it goes back as its text. */
  readonly reasoningIds?: ((name: string, value: unknown) => Int32Array) | undefined;
  /** What text is that is not reasoning: by default the answer. */
  readonly phase?: MessagePhase | undefined;
}

/** Reads the stream of `/v1/chat/completions`, or the one object of a server that does not stream. */
export class ChatReader implements MessageReader {
  readonly #options: ChatReaderOptions;
  readonly #writer: OutputWriter;
  readonly #calls = new ToolCalls();
  readonly #reasoning = new ReasoningFields();
  readonly #tags = new ThinkTags();
  /** Calls that are written out, and how much of the arguments of the last of them. */
  #begun = 0;
  #written = 0;
  #late = '';

  constructor(options: ChatReaderOptions) {
    this.#options = options;
    this.#writer = new OutputWriter(options.estimate);
  }

  read(event: Fields): MessageChunk {
    refuseError(event);
    const { choices } = event;
    const choice = fieldsOf(Array.isArray(choices) ? choices[0] : undefined);
    refuseError(choice);
    const said = this.#tags.read(saidBy(fieldsOf(choice['delta'] ?? choice['message'])));
    const finish = finishOf(choice['finish_reason']);
    this.#writeText(said);
    for (const piece of said.calls) this.#calls.add(piece);
    if (said.calls.length > 0) this.#writeCalls(false);
    // Some say it with every piece, so that text may go on; calls are waited for.
    if (finish === 'stop' && this.#calls.calls.length > 0) this.#end(true);
    return { ...this.#writer.take(), finish, usage: usageOf(event['usage']) };
  }

  close(reason: FinishReason): readonly OutputEvent[] {
    this.#end(reason === 'stop');
    return this.#writer.take().events;
  }

  /** Text that comes in the middle of a call is kept until the calls are whole: items do not overlap. */
  #writeText({ reasoning, content }: Said): void {
    if (this.#isOpen()) {
      this.#late += content;
      return;
    }
    const isSealed = reasoning.details.some(({ data }) => typeof data === 'string');
    if (isSealed && this.#writer.open === undefined) this.#writer.begin({ type: 'reasoning' });
    this.#writer.text({ type: 'reasoning' }, reasoning.text);
    if (this.#writer.open === 'reasoning') this.#reasoning.add(reasoning);
    if (content !== '') this.#closeReasoning();
    this.#writer.text(messageHeader(this.#options.phase), content);
  }

  /** Reasoning is closed by its own name: what it goes back as is known then. */
  #closeReasoning(complete = true): void {
    if (this.#writer.open !== 'reasoning') return;
    const field = this.#reasoning.take();
    this.#writer.close(complete, field && this.#options.reasoningIds?.(field.name, field.value));
  }

  #end(complete: boolean): void {
    this.#writeText(this.#tags.end());
    this.#writeCalls(complete, !complete);
    if (complete && this.#late.trim() !== '')
      this.#writer.text(messageHeader(this.#options.phase), this.#late);
    this.#late = '';
    this.#closeReasoning(complete);
    this.#writer.close(complete);
  }

  /**
   * Items do not overlap: arguments of a call are streamed once the calls before it are whole.
   * @param all whether every call is whole
   * @param cut whether the last call that has a name was cut short
   */
  #writeCalls(all: boolean, cut = false): void {
    const { calls } = this.#calls;
    for (;;) {
      const call = calls[this.#begun - 1];
      if (call !== undefined && this.#isOpen()) {
        const isWhole = all || (calls.length > this.#begun && isJson(call.arguments));
        this.#writeArguments(call, isWhole || cut);
        if (!isWhole) return;
        this.#writer.close();
      }
      const next = calls[this.#begun];
      if (next === undefined || next.name === '') return;
      this.#begun++;
      this.#written = 0;
      this.#closeReasoning();
      this.#writer.begin(callHeader(next.name, this.#options.targets));
    }
  }

  #isOpen(): boolean {
    const { open } = this.#writer;
    return open !== undefined && open !== 'message' && open !== 'reasoning';
  }

  /** Functions get their arguments as they come; the text of a tool of free text is known when they are whole. */
  #writeArguments(call: PartialCall, whole: boolean): void {
    if (this.#writer.open !== 'custom_tool_call') {
      this.#writer.append(call.arguments.slice(this.#written));
      this.#written = call.arguments.length;
    } else if (whole) {
      this.#writer.append(freeText(call.arguments));
    }
  }
}

/** `usage` of a chunk; it is in the last one, or in every one as it grows. */
function usageOf(usage: unknown): EngineUsage | undefined {
  if (usage === undefined || usage === null) return undefined;
  const fields = fieldsOf(usage);
  const details = fieldsOf(fields['prompt_tokens_details']);
  return {
    promptTokens: countOf(fields['prompt_tokens']),
    completionTokens: countOf(fields['completion_tokens']),
    cachedTokens: largestCount([
      details['cached_tokens'],
      // Kimi; DeepSeek; proxies in front of Anthropic.
      fields['cached_tokens'],
      fields['prompt_cache_hit_tokens'],
      fields['cache_read_input_tokens'],
    ]),
    cacheWriteTokens: largestCount([
      // OpenAI and OpenRouter; proxies in front of Anthropic.
      details['cache_write_tokens'],
      details['cache_creation_tokens'],
      fields['cache_creation_input_tokens'],
    ]),
    reasoningTokens: countOf(fieldsOf(fields['completion_tokens_details'])['reasoning_tokens']),
  };
}

function isJson(text: string): boolean {
  if (!text.trimEnd().endsWith('}')) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
