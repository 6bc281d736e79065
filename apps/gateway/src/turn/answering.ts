import type { Ending, ResponseAssembler } from '@turnpike/assembly';
import { summaryItem } from '@turnpike/conversation';
import { imagePartsOf } from '@turnpike/images';
import { ApiError, type TextFormat, type Usage } from '@turnpike/protocol';
import { Rendering, settingsOf } from '@turnpike/rendering';
import { Routing } from '@turnpike/routing';
import { packExpansion, type Sealer } from '@turnpike/sealing';
import type { Artifacts, Pipeline, TurnContext, TurnItem, TurnLifecycle } from '@turnpike/turns';
import { answerCheck, toolRule, Validation } from '@turnpike/validation';
import { artifactOf } from './artifact-of.js';
import { compactedTurn, summarise } from './compacting.js';
import { failedBy } from './ending.js';
import { enginePrompt, enginePromptLength } from './engine-prompt.js';
import type { EventSink } from './event-sink.js';
import { OutputRules } from './output-rules.js';
import type { ResponseControl } from './response-control.js';
import { sample, type SamplingResult } from './sampling.js';
import { sumOf, usageOf } from './usage.js';

export interface AnsweringParts {
  readonly pipeline: Pipeline;
  readonly sealer: Sealer;
  readonly assembler: ResponseAssembler;
  readonly control: ResponseControl;
  readonly lifecycle: TurnLifecycle;
  readonly sink: EventSink;
  /** Ends with the client. */
  readonly gone: AbortSignal;
}

/** What a response ended as, before it is committed. */
export interface Answered {
  readonly ending: Ending;
  readonly usage: Usage;
  /** Set when the engine or its model is to blame. */
  readonly failure?: ApiError | undefined;
  /** Undefined when preparation did not get that far, and nothing can follow. */
  readonly chain?: AnsweredChain | undefined;
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

const INTERRUPTED: Ending = { status: 'incomplete', reason: 'interrupted' };

/**
 * From an admitted turn to the end of its output: preparation, compaction where it is asked for or due, and sampling,
 * which goes on behind the outputs of its own calls when the client gives them while the response is open.
 */
export class Answering {
  readonly #parts: AnsweringParts;
  readonly #signal: AbortSignal;
  #turn: TurnContext;
  #artifacts: Artifacts | undefined;
  readonly #output: TurnItem[] = [];
  #folded = 0;
  #usage = usageOf(0, 0, 0, undefined);
  /** Tokens of the prompt that were counted as read, or were written by the model. */
  #counted = 0;

  constructor(turn: TurnContext, parts: AnsweringParts) {
    this.#turn = turn;
    this.#parts = parts;
    // Of the turn, not of the connection: a signal that lives as long would keep all that were derived from it.
    this.#signal = AbortSignal.any([turn.signal, parts.control.interrupted]);
  }

  /**
   * What goes wrong here is how the response ends, not an exception.
   * @param previous artifacts of the response that the turn was folded behind
   */
  async run(previous: Artifacts | undefined): Promise<Answered> {
    try {
      this.#artifacts = await this.#parts.pipeline.run(this.#turn, previous, 'preparation');
      const { ending, failure } = await this.#steps();
      return { ending, failure, usage: this.#usage, chain: this.#chain() };
    } catch (thrown) {
      const { assembler, sink, gone, control } = this.#parts;
      const unfinished = assembler.discardOpen();
      if (unfinished.length > 0) sink.send(unfinished);
      const usage = this.#usage.total_tokens === 0 ? usageOf(this.#counted, 0, 0, undefined) : this.#usage;
      if (gone.aborted || control.interrupted.aborted) {
        return { ending: INTERRUPTED, usage, chain: this.#chain() };
      }
      const failure = ApiError.from(thrown);
      return { ending: failedBy(failure), failure, usage };
    }
  }

  #chain(): AnsweredChain | undefined {
    if (this.#artifacts === undefined) return undefined;
    const { assembler } = this.#parts;
    const folded = Math.min(this.#folded, assembler.items.length);
    return { turn: this.#turn, artifacts: this.#artifacts, output: this.#output, folded };
  }

  async #steps(): Promise<Pick<SamplingResult, 'ending' | 'failure'>> {
    const { request } = this.#turn;
    this.#counted = this.#promptTokens();
    this.#requireRoom();
    if (!request.generate) {
      this.#usage = usageOf(this.#counted, 0, 0, undefined);
      return { ending: { status: 'completed' } };
    }
    if (request.compacts) {
      await this.#compact(false);
      return { ending: { status: 'completed' } };
    }
    if (this.#isDue(request.compactThreshold)) {
      await this.#compact(true);
      this.#counted = this.#promptTokens();
    }
    for (let read = this.#counted; ; read = await this.#takeOutputs()) {
      const { ending, failure } = await this.#sample(read);
      if (ending.status !== 'completed' || !(await this.#isAnswered())) return { ending, failure };
      const { gone, control } = this.#parts;
      if (!gone.aborted && !control.interrupted.aborted) continue;
      if (control.hasUnread) await this.#takeOutputs();
      return { ending: INTERRUPTED };
    }
  }

  /** Whether the conversation is to be compacted first. Not before the model has seen what images it was just given. */
  #isDue(threshold: number | undefined): boolean {
    if (threshold === undefined || this.#counted <= threshold) return false;
    return !this.#turn.items.some(({ item }) => imagePartsOf(item, '').length > 0);
  }

  /** @param answers whether the input is still to be answered behind the summary */
  async #compact(answers: boolean): Promise<void> {
    const { assembler, sink, sealer, pipeline } = this.#parts;
    this.#dispatched();
    sink.send(assembler.beginCompaction());
    const artifacts = this.#known();
    const turn = this.#turn;
    const { text, usage } = await summarise({ turn, artifacts, pipeline, sealer, signal: this.#signal });
    this.#streaming();
    const expansion = compactedTurn(turn, artifacts, text, answers);
    // A client that asked for a summary alone keeps what it wants to keep beside it.
    const carried = answers ? expansion : { items: [summaryItem(text)], replaces: false };
    const { item, frames } = assembler.endCompaction(sealer.seal(turn.tenant, packExpansion(carried)));
    sink.send(frames);
    this.#usage = usage;
    await this.#fold([{ item, expansion }], 'output');
  }

  /** @param read tokens that the model reads for the first time in this response */
  async #sample(read: number): Promise<SamplingResult> {
    const { assembler, control, sink, sealer } = this.#parts;
    const { request } = this.#turn;
    const artifacts = this.#known();
    const { engine, engineModel, format, contextTokens } = artifactOf(artifacts, Routing);
    const rendered = artifactOf(artifacts, Rendering);
    const { addedTools } = artifactOf(artifacts, Validation);
    const settings = settingsOf(request, rendered.settings);
    const answerSchema = engine.bindsJson === true ? schemaOf(settings.format) : undefined;
    const before = this.#usage;
    this.#dispatched();
    const result = await sample({
      engine,
      request: {
        model: engineModel,
        maxTokens: this.#tokensLeft(contextTokens),
        stopIds: format.stopIds,
        vocabularySize: format.tokenizer.vocabularySize,
        temperature: request.temperature,
        topP: request.topP,
        cacheSalt: sealer.saltOf(this.#turn.tenant),
      },
      promptWith: (ending) => enginePrompt(artifacts, ending),
      folded: this.#folded,
      promptTokens: read,
      contextTokens,
      format,
      tools: [...request.tools, ...addedTools],
      rules: new OutputRules({
        tools: toolRule(request, addedTools, this.#callsMade()),
        bindsAnswer: answerSchema !== undefined,
        reasons: settings.effort !== 'none' && settings.effort !== 'minimal',
        steered: () => control.steers.length > 0,
      }),
      answerSchema,
      check: answerCheck(settings.format),
      assembler,
      sink,
      signal: this.#signal,
      interrupted: () => control.interrupted.aborted,
      onFirstChunk: () => this.#streaming(),
    });
    this.#usage = sumOf(before, withoutKnown(result.usage, before));
    return result;
  }

  /** Whether the response goes on: once the client has answered its calls, where it is open for that. */
  async #isAnswered(): Promise<boolean> {
    const { control, assembler, sink, gone } = this.#parts;
    const { appends } = this.#turn.request;
    const waiting = control.waiting();
    if (waiting.size > 0 && (appends || control.hasUnread)) {
      if (appends) {
        const output = assembler.items.flatMap(({ item }) =>
          'call_id' in item && item.call_id !== null && waiting.has(item.call_id) ? [item] : [],
        );
        sink.send([
          assembler.notice('response.done', {
            response_id: assembler.response.id,
            output,
            usage: this.#usage,
          }),
        ]);
      }
      await control.untilAnswered(gone);
      return true;
    }
    return waiting.size === 0 && control.hasUnread;
  }

  /** Puts what the model wrote and what the client answered into the prompt; returns the tokens of the latter. */
  async #takeOutputs(): Promise<number> {
    const { assembler, control } = this.#parts;
    const { format } = artifactOf(this.#known(), Routing);
    const written = assembler.items.slice(this.#folded);
    await this.#fold(
      written.map(({ item, ids }) => ({ item, sampled: { format: format.name, ids } })),
      'output',
    );
    const before = this.#promptTokens();
    await this.#fold(
      control.takeOutputs().map((item) => ({ item })),
      'input',
    );
    this.#requireRoom();
    return this.#promptTokens() - before;
  }

  async #fold(items: readonly TurnItem[], phase: 'input' | 'output'): Promise<void> {
    const turn = this.#turn.next(items, phase);
    this.#artifacts = await this.#parts.pipeline.run(turn, this.#known());
    this.#turn = turn;
    this.#output.push(...items);
    this.#folded = this.#parts.assembler.items.length;
  }

  /** @throws ApiError context_length_exceeded when the prompt leaves no room for an answer */
  #requireRoom(): void {
    const { contextTokens } = artifactOf(this.#known(), Routing);
    const length = this.#promptTokens();
    if (length < contextTokens) return;
    throw new ApiError('context_length_exceeded', {
      param: 'input',
      message: `The input has ${length} tokens; the context window of the model holds ${contextTokens}.`,
    });
  }

  #tokensLeft(contextTokens: number): number {
    const room = contextTokens - this.#promptTokens();
    const { maxOutputTokens } = this.#turn.request;
    return Math.min(room, (maxOutputTokens ?? Infinity) - this.#usage.output_tokens);
  }

  #promptTokens(): number {
    return enginePromptLength(this.#known());
  }

  #callsMade(): number {
    return this.#parts.assembler.items.filter(({ item }) => 'call_id' in item).length;
  }

  #known(): Artifacts {
    if (this.#artifacts === undefined) throw new Error('the turn has not been prepared');
    return this.#artifacts;
  }

  #dispatched(): void {
    if (this.#parts.lifecycle.state === 'admitted') this.#parts.lifecycle.move('dispatched');
  }

  #streaming(): void {
    if (this.#parts.lifecycle.state === 'dispatched') this.#parts.lifecycle.move('streaming');
  }
}

/**
 * What a later request to the engine took. The prompt it found in its cache was read, and counted, before; reasoning is
 * counted over the whole response.
 */
function withoutKnown(usage: Usage, before: Usage): Usage {
  const reasoning = usage.output_tokens_details.reasoning_tokens;
  const first = before.total_tokens === 0;
  return {
    ...usage,
    input_tokens_details: first ? usage.input_tokens_details : { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens_details: {
      reasoning_tokens: reasoning - before.output_tokens_details.reasoning_tokens,
    },
  };
}

/** JSON Schema of what a format asks for. */
function schemaOf(format: TextFormat): Record<string, unknown> | undefined {
  if (format.type === 'json_schema') return format.schema;
  return format.type === 'json_object' ? { type: 'object' } : undefined;
}
