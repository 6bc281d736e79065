import type { Ending, ResponseAssembler } from '@turnpike/assembly';
import { imagePartsOf } from '@turnpike/images';
import { BudgetExceeded, type TurnMeter } from '@turnpike/metering';
import { ApiError, type Usage } from '@turnpike/protocol';
import { Rendering, settingsOf } from '@turnpike/rendering';
import { Routing, type Route, type RouterStrategy } from '@turnpike/routing';
import type { Sealer } from '@turnpike/sealing';
import type { Artifacts, Pipeline, TurnContext, TurnLifecycle } from '@turnpike/turns';
import { answerCheck, toolRule, Validation } from '@turnpike/validation';
import type { Answered } from './answered.js';
import { boundSchema, schemaOf } from './answer-schema.js';
import { artifactOf } from './artifact-of.js';
import { ClearedEngine } from './cleared-engine.js';
import { compactChain } from './compact-chain.js';
import { failedBy, isRefusedContent, stopReason } from './ending.js';
import { failover } from './failover.js';
import { moneyError } from '../billing/money-error.js';
import type { EventSink } from './event-sink.js';
import { generationsOf } from './generations.js';
import { OutputBlocked, type GuardedAssembler } from './guarded-assembler.js';
import { OpenChain } from './open-chain.js';
import { isAnswered } from './open-response.js';
import { OutputRules } from './output-rules.js';
import type { ResponseControl } from './response-control.js';
import type { SafetyGate } from './safety-gate.js';
import { sample, type SamplingResult } from './sampling.js';
import { sumOf, usageOf, withoutKnown } from './usage.js';

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
  readonly #chain: OpenChain;
  readonly #guard: GuardedAssembler;
  /** Tokens that were generated and not shown, because the verdict was against their input; not in the usage yet. */
  #withheld = 0;
  #usage = usageOf(0, 0, 0, undefined);
  /** Of the output's, those of a summary: what a request may have answered in does not count them. */
  #summaryTokens = 0;
  /** Tokens of the prompt that were counted as read, or were written by the model. */
  #counted = 0;

  constructor(turn: TurnContext, parts: AnsweringParts) {
    this.#chain = new OpenChain(turn, parts);
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
    safety.ended(this.#guard, this.#chain.turn);
    return { ...answered, safety: safety.shown(this.#chain.known, answered.failure, this.#guard) };
  }

  async #answered(previous: Artifacts | undefined): Promise<Answered> {
    const { assembler, sink } = this.#parts;
    const chain = this.#chain;
    try {
      await chain.prepare(previous, this.#races());
      if (this.#parts.money.isHeld) this.#parts.lifecycle.move('held');
      const { ending, failure } = await this.#steps();
      return { ending, failure, usage: this.#usage, chain: chain.answered };
    } catch (thrown) {
      const unfinished = assembler.discardOpen();
      if (unfinished.length > 0) sink.send(unfinished);
      if (thrown instanceof OutputBlocked) {
        return { ending: FILTERED, usage: thrown.usage, chain: chain.answered };
      }
      const usage = this.#usage.total_tokens === 0 ? this.#usageOfNoAnswer() : this.#usage;
      // Nothing goes on from a chain whose verdict is not there.
      const refusal = await chain.refusal();
      const stopped = this.#stopped();
      if (stopped !== undefined && refusal === undefined) return { ...stopped, usage, chain: chain.answered };
      const failure = refusal ?? ApiError.from(moneyError(thrown));
      return { ending: failedBy(failure), failure, usage };
    }
  }

  /** What was used where nothing came of the answer: of a prompt that no engine has got, nothing was. */
  #usageOfNoAnswer(): Usage {
    const { money, lifecycle } = this.#parts;
    const summary = money.used('compaction');
    const read = lifecycle.reached.has('dispatched') ? this.#counted : 0;
    return usageOf(summary?.input ?? read, summary?.output ?? 0, 0, { cachedTokens: summary?.cached });
  }

  /** Whether inference starts before the verdict on its input is there. What is compacted is settled first. */
  #races(): boolean {
    const { generate, compacts, compactThreshold } = this.#chain.turn.request;
    return this.#parts.safety.races && generate && !compacts && compactThreshold === undefined;
  }

  async #steps(): Promise<Pick<SamplingResult, 'ending' | 'failure'>> {
    const { request } = this.#chain.turn;
    this.#counted = this.#chain.promptTokens;
    this.#chain.requireRoom();
    if (!request.generate) this.#usage = usageOf(this.#counted, 0, 0, undefined);
    const stopped = this.#stopped();
    if (stopped !== undefined) return stopped;
    if (!request.generate) {
      this.#parts.money.warmedUp(this.#counted, this.#chain.imageTokens, this.#route());
      return { ending: { status: 'completed' } };
    }
    if (request.compacts) {
      await this.#compact(false);
      return { ending: { status: 'completed' } };
    }
    if (this.#isDue(request.compactThreshold)) {
      await this.#compact(true);
      this.#counted = this.#chain.promptTokens;
    }
    for (let read = this.#counted; ; read = await this.#chain.takeOutputs()) {
      const { ending, failure } = await this.#sample(read);
      const goesOn = ending.status === 'completed' && (await this.#isAnswered());
      const stopped = this.#stopped();
      if (goesOn && stopped === undefined) continue;
      await this.#chain.keepOutputs();
      if (goesOn && stopped !== undefined) return stopped;
      return this.#isInterrupted(ending, failure) ? { ending: INTERRUPTED } : { ending, failure };
    }
  }

  /** How the response ends when its client has interrupted it or is gone, or the server stops. */
  #stopped(): Pick<SamplingResult, 'ending' | 'failure'> | undefined {
    const { gone, control } = this.#parts;
    const failure = stopReason(gone);
    if (failure !== undefined) return { ending: failedBy(failure), failure };
    return gone.aborted || control.interrupted.aborted ? { ending: INTERRUPTED } : undefined;
  }

  /**
   * Whether the client was told that it has interrupted what failed, or was completed, in the same moment: it reads no other
   * end then, unless the content is refused or the server stops.
   */
  #isInterrupted({ status }: Ending, failure: ApiError | undefined): boolean {
    if (status === 'incomplete' || isRefusedContent(failure)) return false;
    return this.#parts.control.interrupted.aborted && stopReason(this.#parts.gone) === undefined;
  }

  /** Whether the conversation is to be compacted first. Not before the model has seen what images it was just given. */
  #isDue(threshold: number | undefined): boolean {
    if (threshold === undefined || this.#counted <= threshold) return false;
    return !this.#chain.turn.items.some(({ item }) => imagePartsOf(item, '').length > 0);
  }

  /** @param answers whether the input is still to be answered behind the summary */
  async #compact(answers: boolean): Promise<void> {
    this.#dispatched();
    await compactChain(this.#chain, {
      ...this.#parts,
      answers,
      signal: this.#signal,
      onSummary: (usage) => {
        this.#streaming();
        this.#usage = usage;
        this.#summaryTokens = usage.output_tokens;
      },
    });
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
      const length = this.#chain.promptTokens;
      const moved = await failover({
        ...this.#parts,
        turn: this.#chain.turn,
        artifacts: this.#chain.artifacts,
        failure: result.failure,
      });
      if (moved !== undefined) {
        this.#chain.become(moved);
        money.failedOver();
        // In another format the same conversation has another length.
        result = await this.#sampleOnce(Math.max(0, read + this.#chain.promptTokens - length));
      }
    }
    const usage = withoutKnown(result.usage, before, readsAll);
    this.#usage = sumOf(before, sumOf(usage, usageOf(0, this.#withheld, 0, undefined)));
    this.#withheld = 0;
    return this.#filtered(result);
  }

  /** The same as far as the content policy lets it: what it does not is not part of the output. */
  async #filtered(result: SamplingResult): Promise<SamplingResult> {
    const refusal = await this.#chain.refusal();
    if (refusal !== undefined) return { ...result, ending: failedBy(refusal), failure: refusal };
    if (!this.#guard.blocked) return result;
    const { assembler, sink } = this.#parts;
    const unfinished = assembler.discardOpen();
    if (unfinished.length > 0) sink.send(unfinished);
    return { ...result, ending: FILTERED };
  }

  async #sampleOnce(read: number): Promise<SamplingResult> {
    const { assembler, control, sink, sealer, safety, pipeline, money } = this.#parts;
    const { request } = this.#chain.turn;
    const artifacts = this.#chain.artifacts;
    const route = artifactOf(artifacts, Routing);
    const { format, contextTokens } = route;
    const engine = ClearedEngine.of(artifacts, safety);
    const rendered = artifactOf(artifacts, Rendering);
    const { addedTools } = artifactOf(artifacts, Validation);
    const settings = settingsOf(request, rendered.settings);
    // Servers that take messages are asked for the format, and bind the answer alone to it.
    const wanted = format.api === undefined ? schemaOf(settings.format) : undefined;
    const answerSchema = await boundSchema(engine, wanted, this.#signal);
    if (!(await this.#isAfforded(read))) {
      const usage = usageOf(0, 0, assembler.reasoningTokens, undefined);
      return { ending: OUT_OF_BUDGET, isEmpty: true, usage };
    }
    this.#dispatched();
    this.#parts.onRoute(route);
    const result = await sample({
      source: generationsOf({
        turn: this.#chain.turn,
        artifacts,
        engine,
        pipeline,
        sealer,
        answerSchema,
        isLimited: request.maxOutputTokens !== undefined,
      }),
      maxTokens: this.#tokensLeft(contextTokens),
      folded: this.#chain.folded,
      promptTokens: read,
      readsAll: this.#readsAll(read),
      rules: new OutputRules({
        tools: toolRule(request, addedTools, this.#chain.callsMade),
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
        prompt: this.#chain.promptTokens,
        read,
        // Once for a response, whichever engine sees them in the end.
        image: this.#usage.total_tokens === 0 ? this.#chain.imageTokens : 0,
        ...this.#route(),
      });
      return true;
    } catch (thrown) {
      if (thrown instanceof BudgetExceeded && !isFirst) return false;
      throw thrown;
    }
  }

  #route(): { engine: string; route: string } {
    const route = this.#chain.route;
    return { engine: route.engine.name, route: route.engineModel };
  }

  #isAnswered(): Promise<boolean> {
    const { appends } = this.#chain.turn.request;
    return isAnswered({ ...this.#parts, appends, folded: this.#chain.folded, usage: this.#usage });
  }

  #tokensLeft(contextTokens: number): number {
    const room = contextTokens - this.#chain.promptTokens;
    const { maxOutputTokens } = this.#chain.turn.request;
    const answered = this.#usage.output_tokens - this.#summaryTokens;
    return Math.min(room, (maxOutputTokens ?? Infinity) - answered);
  }

  /** Whether so much is all of the prompt: at the start, and behind a summary. */
  #readsAll(read: number): boolean {
    return read >= this.#chain.promptTokens;
  }

  #dispatched(): void {
    const { state } = this.#parts.lifecycle;
    if (state === 'admitted' || state === 'held') this.#parts.lifecycle.move('dispatched');
  }

  #streaming(): void {
    if (this.#parts.lifecycle.state === 'dispatched') this.#parts.lifecycle.move('streaming');
  }
}
