import type { Ending, ResponseAssembler } from '@turnpike/assembly';
import { summaryItem } from '@turnpike/conversation';
import { imagePartsOf, Images } from '@turnpike/images';
import { BudgetExceeded, type TurnMeter } from '@turnpike/metering';
import { ApiError } from '@turnpike/protocol';
import { Rendering, settingsOf } from '@turnpike/rendering';
import { Routing, type Route, type RouterStrategy } from '@turnpike/routing';
import { packExpansion, type Sealer } from '@turnpike/sealing';
import type { Artifacts, Pipeline, TurnContext, TurnItem, TurnLifecycle } from '@turnpike/turns';
import { answerCheck, toolRule, Validation } from '@turnpike/validation';
import type { Answered, AnsweredChain } from './answered.js';
import { boundSchema, schemaOf } from './answer-schema.js';
import { artifactOf } from './artifact-of.js';
import { ClearedEngine } from './cleared-engine.js';
import { compactedTurn, summarise } from './compacting.js';
import { failedBy, stopReason } from './ending.js';
import { enginePromptLength } from './engine-prompt.js';
import { failover } from './failover.js';
import { moneyError } from '../billing/money-error.js';
import type { EventSink } from './event-sink.js';
import { generationsOf } from './generations.js';
import { OutputBlocked, type GuardedAssembler } from './guarded-assembler.js';
import { OutputRules } from './output-rules.js';
import type { ResponseControl } from './response-control.js';
import type { SafetyGate } from './safety-gate.js';
import { sample, type SamplingResult } from './sampling.js';
import { sumOf, usageOf, withoutKnown } from './usage.js';
import { writtenItems } from './written-items.js';

export interface AnsweringParts {
  readonly pipeline: Pipeline;
  readonly sealer: Sealer;
  readonly safety: SafetyGate;
  readonly assembler: ResponseAssembler;
  readonly control: ResponseControl;
  readonly lifecycle: TurnLifecycle;
  readonly money: TurnMeter;
  readonly sink: EventSink;
  readonly router: RouterStrategy;
  /** Told of the route by which output comes, before any does. */
  readonly onRoute: (route: Route) => void;
  /** Ends with the client. */
  readonly gone: AbortSignal;
}

const INTERRUPTED: Ending = { status: 'incomplete', reason: 'interrupted' };
const FILTERED: Ending = { status: 'incomplete', reason: 'content_filter' };
const OUT_OF_BUDGET: Ending = { status: 'incomplete', reason: 'insufficient_quota' };

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
  readonly #guard: GuardedAssembler;
  #folded = 0;
  /** Tokens that were generated and not shown, because the verdict was against their input; not in the usage yet. */
  #withheld = 0;
  /** Calls among what is folded. */
  #callsMade = 0;
  #usage = usageOf(0, 0, 0, undefined);
  /** Of the output's, those of a summary: what a request may have answered in does not count them. */
  #summaryTokens = 0;
  /** Tokens of the prompt that were counted as read, or were written by the model. */
  #counted = 0;

  constructor(turn: TurnContext, parts: AnsweringParts) {
    this.#turn = turn;
    this.#parts = parts;
    this.#guard = parts.safety.guard(parts.assembler);
    // Of the turn, not of the connection: a signal that lives as long would keep all that were derived from it.
    this.#signal = AbortSignal.any([turn.signal, parts.control.interrupted]);
  }

  /**
   * What goes wrong here is how the response ends, not an exception.
   * @param previous artifacts of the response that the turn was folded behind
   */
  async run(previous: Artifacts | undefined): Promise<Answered> {
    const { safety } = this.#parts;
    const answered = await this.#answered(previous);
    safety.ended(this.#guard, this.#turn);
    return { ...answered, safety: safety.shown(this.#artifacts, answered.failure, this.#guard) };
  }

  async #answered(previous: Artifacts | undefined): Promise<Answered> {
    const { assembler, sink, safety, pipeline } = this.#parts;
    try {
      const prepared = await pipeline.run(this.#turn, previous, 'preparation');
      this.#artifacts = this.#races() ? prepared : await safety.settled(prepared);
      if (this.#parts.money.isHeld) this.#parts.lifecycle.move('held');
      const { ending, failure } = await this.#steps();
      return { ending, failure, usage: this.#usage, chain: this.#chain() };
    } catch (thrown) {
      const unfinished = assembler.discardOpen();
      if (unfinished.length > 0) sink.send(unfinished);
      if (thrown instanceof OutputBlocked) {
        return { ending: FILTERED, usage: thrown.usage, chain: this.#chain() };
      }
      const summary = this.#parts.money.used('compaction');
      const usage =
        this.#usage.total_tokens === 0
          ? usageOf(summary?.input ?? this.#counted, summary?.output ?? 0, 0, undefined)
          : this.#usage;
      // Nothing goes on from a chain whose verdict is not there.
      const refusal = await this.#refusal();
      const stopped = this.#stopped();
      if (stopped !== undefined && refusal === undefined) return { ...stopped, usage, chain: this.#chain() };
      const failure = refusal ?? ApiError.from(moneyError(thrown));
      return { ending: failedBy(failure), failure, usage };
    }
  }

  /** Whether inference starts before the verdict on its input is there. What is compacted is settled first. */
  #races(): boolean {
    const { generate, compacts, compactThreshold } = this.#turn.request;
    return this.#parts.safety.races && generate && !compacts && compactThreshold === undefined;
  }

  /** Why the chain may not be gone on from, once that is known. */
  async #refusal(): Promise<ApiError | undefined> {
    if (this.#artifacts === undefined) return undefined;
    try {
      this.#artifacts = await this.#parts.safety.settled(this.#artifacts);
      return undefined;
    } catch (thrown) {
      return ApiError.from(thrown);
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
    if (!request.generate) this.#usage = usageOf(this.#counted, 0, 0, undefined);
    const stopped = this.#stopped();
    if (stopped !== undefined) return stopped;
    if (!request.generate) {
      this.#parts.money.warmedUp(this.#counted, this.#images(), this.#route());
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
      const goesOn = ending.status === 'completed' && (await this.#isAnswered());
      const stopped = this.#stopped();
      if (goesOn && stopped === undefined) continue;
      await this.#keepOutputs();
      return goesOn && stopped !== undefined ? stopped : { ending, failure };
    }
  }

  /** How the response ends when its client has interrupted it or is gone, or the server stops. */
  #stopped(): Pick<SamplingResult, 'ending' | 'failure'> | undefined {
    const { gone, control } = this.#parts;
    const failure = stopReason(gone);
    if (failure !== undefined) return { ending: failedBy(failure), failure };
    return gone.aborted || control.interrupted.aborted ? { ending: INTERRUPTED } : undefined;
  }

  /** Whether the conversation is to be compacted first. Not before the model has seen what images it was just given. */
  #isDue(threshold: number | undefined): boolean {
    if (threshold === undefined || this.#counted <= threshold) return false;
    return !this.#turn.items.some(({ item }) => imagePartsOf(item, '').length > 0);
  }

  /** @param answers whether the input is still to be answered behind the summary */
  async #compact(answers: boolean): Promise<void> {
    const { assembler, sink, sealer, pipeline, router, safety, money } = this.#parts;
    this.#dispatched();
    sink.send(assembler.beginCompaction());
    const turn = this.#turn;
    const { text, usage, artifacts } = await summarise({
      turn,
      artifacts: this.#known(),
      pipeline,
      router,
      sealer,
      safety,
      money,
      signal: this.#signal,
    });
    this.#artifacts = artifacts;
    this.#streaming();
    const { contextTokens } = artifactOf(artifacts, Routing);
    const tokens = Math.floor(Math.min(turn.request.compactThreshold ?? Infinity, contextTokens) / 2);
    const expansion = await compactedTurn({ turn, artifacts, pipeline, summary: text, answers, tokens });
    // A client that asked for a summary alone keeps what it wants to keep beside it.
    const carried = answers ? expansion : { items: [summaryItem(text)], replaces: false };
    const { item, frames } = assembler.endCompaction(sealer.seal(turn.tenant, packExpansion(carried)));
    sink.send(frames);
    this.#usage = usage;
    this.#summaryTokens = usage.output_tokens;
    await this.#fold([{ item, expansion }], 'output');
  }

  /**
   * Samples one output. An engine that fails before it has sampled anything is replaced by another one, once: only what
   * that one does is counted.
   * @param read tokens that the model reads for the first time in this response
   */
  async #sample(read: number): Promise<SamplingResult> {
    const { money } = this.#parts;
    const before = this.#usage;
    const readsAll = this.#readsAll(read);
    let result = await this.#sampleOnce(read);
    if (result.failure !== undefined && result.isEmpty && this.#stopped() === undefined) {
      const length = this.#promptTokens();
      const moved = await failover({
        ...this.#parts,
        turn: this.#turn,
        artifacts: this.#known(),
        failure: result.failure,
      });
      if (moved !== undefined) {
        this.#artifacts = moved;
        money.failedOver(read);
        // In another format the same conversation has another length.
        result = await this.#sampleOnce(Math.max(0, read + this.#promptTokens() - length));
      }
    }
    const usage = withoutKnown(result.usage, before, readsAll);
    this.#usage = sumOf(before, sumOf(usage, usageOf(0, this.#withheld, 0, undefined)));
    this.#withheld = 0;
    return this.#filtered(result);
  }

  /** The same as far as the content policy lets it: what it does not is not part of the output. */
  async #filtered(result: SamplingResult): Promise<SamplingResult> {
    const refusal = await this.#refusal();
    if (refusal !== undefined) return { ...result, ending: failedBy(refusal), failure: refusal };
    if (!this.#guard.blocked) return result;
    const { assembler, sink } = this.#parts;
    const unfinished = assembler.discardOpen();
    if (unfinished.length > 0) sink.send(unfinished);
    return { ...result, ending: FILTERED };
  }

  async #sampleOnce(read: number): Promise<SamplingResult> {
    const { assembler, control, sink, sealer, safety, pipeline, money } = this.#parts;
    const { request } = this.#turn;
    const artifacts = this.#known();
    const route = artifactOf(artifacts, Routing);
    const { format, contextTokens } = route;
    const engine = ClearedEngine.of(artifacts, safety);
    const rendered = artifactOf(artifacts, Rendering);
    const { addedTools } = artifactOf(artifacts, Validation);
    const settings = settingsOf(request, rendered.settings);
    // Servers that take messages are asked for the format, and bind the answer alone to it.
    const wanted = format.api === undefined ? schemaOf(settings.format) : undefined;
    const answerSchema = await boundSchema(engine, wanted);
    if (!(await this.#isAfforded(read))) {
      const usage = usageOf(0, 0, assembler.reasoningTokens, undefined);
      return { ending: OUT_OF_BUDGET, isEmpty: true, usage };
    }
    this.#dispatched();
    this.#parts.onRoute(route);
    const result = await sample({
      source: generationsOf({
        turn: this.#turn,
        artifacts,
        engine,
        pipeline,
        sealer,
        answerSchema,
        isLimited: request.maxOutputTokens !== undefined,
      }),
      maxTokens: this.#tokensLeft(contextTokens),
      folded: this.#folded,
      promptTokens: read,
      readsAll: this.#readsAll(read),
      rules: new OutputRules({
        tools: toolRule(request, addedTools, this.#callsMade),
        bindsAnswer: answerSchema !== undefined,
        reasons: settings.effort !== 'none' && settings.effort !== 'minimal',
        steered: () => control.steers.length > 0,
      }),
      check: answerCheck(settings.format),
      assembler: this.#guard,
      sink,
      money,
      signal: this.#signal,
      interrupted: () => control.interrupted.aborted,
      onFirstChunk: () => this.#streaming(),
    });
    this.#withheld += engine.withheld;
    return result;
  }

  /**
   * Writes down that an engine is about to be asked for an answer.
   * @returns false when the budget that bore the response so far has ended
   */
  async #isAfforded(read: number): Promise<boolean> {
    const { money } = this.#parts;
    const isFirst = !money.isDispatched;
    try {
      await money.dispatch({
        purpose: 'answer',
        prompt: this.#promptTokens(),
        read,
        image: isFirst ? this.#images() : 0,
        ...this.#route(),
      });
      return true;
    } catch (thrown) {
      if (thrown instanceof BudgetExceeded && !isFirst) return false;
      throw thrown;
    }
  }

  #route(): { engine: string; route: string } {
    const route = artifactOf(this.#known(), Routing);
    return { engine: route.engine.name, route: route.engineModel };
  }

  #images(): number {
    return artifactOf(this.#known(), Images).tokens;
  }

  /** Whether the response goes on: once the client has answered its calls, where it is open for that. */
  async #isAnswered(): Promise<boolean> {
    const { control, assembler, sink, gone } = this.#parts;
    const { appends } = this.#turn.request;
    const waiting = control.waiting();
    if (waiting.size > 0 && (appends || control.hasUnread)) {
      if (appends) {
        const output = assembler.items
          .slice(this.#folded)
          .flatMap(({ item }) =>
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
    await this.#foldWritten();
    const before = this.#promptTokens();
    await this.#fold(outputItems(this.#parts.control), 'input');
    this.#requireRoom();
    return this.#promptTokens() - before;
  }

  /** What the client was told to be taken stays in the chain, though nothing is made of it and other calls may wait. */
  async #keepOutputs(): Promise<void> {
    const { control } = this.#parts;
    while (control.hasUnread) {
      await this.#foldWritten();
      await this.#fold(outputItems(control), 'input', { ...this.#turn.request, generate: false });
    }
    control.close();
  }

  async #foldWritten(): Promise<void> {
    const { format } = artifactOf(this.#known(), Routing);
    const written = this.#parts.assembler.items.slice(this.#folded);
    this.#callsMade += written.filter(({ item }) => 'call_id' in item).length;
    await this.#fold(writtenItems(written, format), 'output');
  }

  async #fold(
    items: readonly TurnItem[],
    phase: 'input' | 'output',
    request = this.#turn.request,
  ): Promise<void> {
    const turn = this.#turn.next(items, phase, request);
    const { pipeline, safety } = this.#parts;
    this.#artifacts = await safety.settled(await pipeline.run(turn, this.#known()));
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
    const answered = this.#usage.output_tokens - this.#summaryTokens;
    return Math.min(room, (maxOutputTokens ?? Infinity) - answered);
  }

  /** Whether so much is all of the prompt: at the start, and behind a summary. */
  #readsAll(read: number): boolean {
    return read >= this.#promptTokens();
  }

  #promptTokens(): number {
    return enginePromptLength(this.#known());
  }

  #known(): Artifacts {
    if (this.#artifacts === undefined) throw new Error('the turn has not been prepared');
    return this.#artifacts;
  }

  #dispatched(): void {
    const { state } = this.#parts.lifecycle;
    if (state === 'admitted' || state === 'held') this.#parts.lifecycle.move('dispatched');
  }

  #streaming(): void {
    if (this.#parts.lifecycle.state === 'dispatched') this.#parts.lifecycle.move('streaming');
  }
}

function outputItems(control: ResponseControl): TurnItem[] {
  return control.takeOutputs().map((item) => ({ item }));
}
