import type { Ending } from '@turnpike/assembly';
import type { EngineUsage, MessageFinish } from '@turnpike/inference';
import { ApiError, type Usage } from '@turnpike/protocol';
import type { AnswerCheck } from '@turnpike/validation';
import type { SamplingMeter } from '../billing/turn-money.js';
import { failedBy, stopReason } from './ending.js';
import type { EventSink } from './event-sink.js';
import type { Generation, GenerationSource } from './generation.js';
import type { OutputAssembler } from './guarded-assembler.js';
import { answerFault, type OutputRules } from './output-rules.js';
import { usageOf } from './usage.js';

export interface SamplingInput {
  readonly source: GenerationSource;
  /** Most tokens of the whole output. */
  readonly maxTokens: number;
  /** Items of the output that are in the prompt already; the others follow it. */
  readonly folded: number;
  /** Tokens that the model reads and has not written in this response, without what is opened for it. */
  readonly promptTokens: number;
  /** Whether that is all of its prompt. Behind outputs that the client gave within the response it is not. */
  readonly readsAll: boolean;
  readonly rules: OutputRules;
  /** What a completed answer has to pass. */
  readonly check?: AnswerCheck | undefined;
  readonly assembler: OutputAssembler;
  readonly sink: EventSink;
  /** Counts what the engine gives, and knows when the budget ends. */
  readonly money: SamplingMeter;
  /** Ends with the client, or when it interrupts the response. */
  readonly signal: AbortSignal;
  /** True when the client has interrupted: what is not finished is dropped. */
  readonly interrupted: () => boolean;
  /** Called when the engine's first answer begins. */
  readonly onFirstChunk: () => void;
}

export interface SamplingResult {
  readonly ending: Ending;
  /** Set when the engine or its model is to blame. */
  readonly failure?: ApiError | undefined;
  /** Whether nothing was sampled: as far as the response goes, no engine has been asked. */
  readonly isEmpty: boolean;
  readonly usage: Usage;
}

/** What became of one request to the engine. */
interface Generated {
  readonly finish: MessageFinish;
  /** Ids sampled, those that were not let through included: the engine produced them all. */
  readonly sampled: number;
  /** Whether nothing came of it. */
  readonly isEmpty: boolean;
  readonly usage?: EngineUsage | undefined;
  readonly failure?: ApiError | undefined;
}

/**
 * Samples one output: engine -> rules -> assembler -> sink, once per engine chunk. Whatever happens on the
 * way, what was sampled is read, closed, counted and returned. Where the rules want something that the model did not
 * write, a second generation goes on behind what was delivered; its prompt is the same but for what was added, so
 * the engine finds it in its cache.
 */
export async function sample(input: SamplingInput): Promise<SamplingResult> {
  const { assembler, check, rules } = input;
  let engineUsage: EngineUsage | undefined;
  let opening = rules.first();
  let sampled = 0;
  let answered = false;
  let isEmpty = true;
  const onFirstChunk = () => {
    if (!answered) input.onFirstChunk();
    answered = true;
  };
  const usage = () => {
    const theirs = input.source.countsByEngine && input.readsAll ? engineUsage?.promptTokens : undefined;
    const reasoning = Math.min(engineUsage?.reasoningTokens ?? assembler.reasoningTokens, sampled);
    return usageOf(theirs ?? input.promptTokens, sampled, reasoning, engineUsage);
  };
  for (;;) {
    const written = assembler.items.slice(input.folded);
    const begun = await input.source.begin(written, opening, input.maxTokens - sampled);
    const generated: Generated =
      begun === undefined
        ? { finish: 'length', sampled: 0, isEmpty: true }
        : await generate({ ...input, onFirstChunk }, begun);
    // Of a second prompt the engine has nearly all in its cache, and the client sent the first.
    if (sampled === 0) {
      engineUsage = generated.usage;
      const theirs = input.source.countsByEngine ? engineUsage?.promptTokens : undefined;
      if (theirs !== undefined) input.money.counted(theirs);
    }
    sampled += generated.sampled;
    isEmpty &&= generated.isEmpty;
    let { failure } = generated;
    if (input.money.isExhausted) {
      const ending: Ending = { status: 'incomplete', reason: 'insufficient_quota' };
      return { ending, isEmpty, usage: usage() };
    }
    if (rules.steered) {
      const ending: Ending = { status: 'incomplete', reason: 'steered' };
      return { ending, isEmpty, usage: usage() };
    }
    if (failure === undefined && generated.finish === 'stop') {
      try {
        opening = rules.next();
      } catch (thrown) {
        failure = ApiError.from(thrown);
      }
      if (failure === undefined && opening !== undefined) continue;
      failure ??= check && answerFault(assembler.items.slice(input.folded), check);
    }
    return {
      ending: endingOf(generated.finish, failure),
      failure,
      isEmpty,
      usage: usage(),
    };
  }
}

async function generate(input: SamplingInput, generation: Generation): Promise<Generated> {
  const { rules, assembler, sink, money } = input;
  const enough = new AbortController();
  const signal = AbortSignal.any([input.signal, enough.signal]);
  let sampled = 0;
  let isEmpty = true;
  let finish: MessageFinish | undefined;
  let usage: EngineUsage | undefined;
  let failure: ApiError | undefined;
  /** Set once the engine was stopped from here. */
  let cut: 'stop' | 'abort' | 'length' | undefined;
  const stop = (as: NonNullable<typeof cut>) => {
    cut = as;
    enough.abort();
  };
  money.requested();
  try {
    for await (const chunk of generation.chunks(signal)) {
      input.onFirstChunk();
      usage = chunk.usage ?? usage;
      if (chunk.usage?.isCut === true) money.clamped();
      if (chunk.finish !== undefined) money.finished();
      const held = money.take(chunk.sampled);
      sampled += chunk.sampled;
      // What the engine had produced when it was stopped is paid for, and nobody's output any more.
      if (signal.aborted) continue;
      finish = chunk.finish ?? finish;
      if (chunk.sampled > 0 || chunk.events.length > 0) isEmpty = false;
      if (chunk.events.length > 0) {
        const { passed, stop: isEnough } = rules.take(chunk.events);
        const frames = assembler.push(passed);
        if (frames.length > 0) sink.send(frames);
        if (isEnough) stop('stop');
        else if (assembler.blocked === true) stop('abort');
        if (cut !== undefined) continue;
      }
      if (held !== undefined) await held;
      if (money.isExhausted) {
        stop('length');
        continue;
      }
      const caughtUp = sink.ready();
      if (caughtUp !== undefined) await caughtUp;
    }
  } catch (thrown) {
    if (cut === undefined) {
      finish = 'abort';
      failure = signal.aborted ? stopReason(signal) : ApiError.from(thrown);
    }
  }
  if (cut === 'stop' || cut === 'abort') return { finish: cut, sampled, isEmpty, usage };
  finish ??= cut;
  if (finish === 'abort' && !signal.aborted) failure ??= new ApiError('engine_error');
  // What the prompt opened is nobody's output, and another engine may answer in its place.
  if (failure !== undefined && isEmpty) return { finish: 'abort', sampled, isEmpty, usage, failure };
  const closing =
    finish === 'abort' && input.interrupted()
      ? assembler.discardOpen()
      : assembler.push(
          rules.take(generation.close(finish === undefined || finish === 'content_filter' ? 'abort' : finish))
            .passed,
        );
  if (closing.length > 0) sink.send(closing);
  return { finish: finish ?? 'abort', sampled, isEmpty, usage, failure };
}

function endingOf(finish: MessageFinish, failure: ApiError | undefined): Ending {
  if (failure !== undefined) return failedBy(failure);
  if (finish === 'stop') return { status: 'completed' };
  if (finish === 'content_filter') return { status: 'incomplete', reason: finish };
  return { status: 'incomplete', reason: finish === 'length' ? 'max_output_tokens' : 'interrupted' };
}
