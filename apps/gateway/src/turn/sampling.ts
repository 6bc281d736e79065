import type { Ending } from '@turnpike/assembly';
import type { FinishReason, Format } from '@turnpike/formats';
import type { EngineClient, EngineUsage, GenerateRequest } from '@turnpike/inference';
import { ApiError, type Tool, type Usage } from '@turnpike/protocol';
import type { PromptEnding } from '@turnpike/rendering';
import type { AnswerCheck } from '@turnpike/validation';
import { failedBy, stopReason } from './ending.js';
import type { EventSink } from './event-sink.js';
import type { OutputAssembler } from './guarded-assembler.js';
import { answerFault, type OutputRules } from './output-rules.js';
import { usageOf } from './usage.js';

export interface SamplingInput {
  readonly engine: EngineClient;
  /** `maxTokens` is that of the whole response. */
  readonly request: Omit<GenerateRequest, 'prompt' | 'json'>;
  /** The conversation as a prompt that ends with this. */
  readonly promptWith: (ending: Required<PromptEnding>) => GenerateRequest['prompt'];
  /** Items of the output that are in the prompt already; the others follow it. */
  readonly folded: number;
  /** Tokens that the model reads and has not written in this response, without what is opened for it. */
  readonly promptTokens: number;
  /** Most tokens of prompt and output together. */
  readonly contextTokens: number;
  readonly format: Format;
  /** Reasoning effort. */
  readonly effort?: string | undefined;
  readonly tools: readonly Tool[];
  readonly rules: OutputRules;
  /** JSON Schema that the engine binds the answer to. */
  readonly answerSchema?: Readonly<Record<string, unknown>> | undefined;
  /** What a completed answer has to pass. */
  readonly check?: AnswerCheck | undefined;
  readonly assembler: OutputAssembler;
  readonly sink: EventSink;
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
  readonly usage: Usage;
}

/** One request to the engine. */
interface Generation {
  readonly finish: FinishReason;
  /** Ids sampled, those that were not let through included: the engine produced them all. */
  readonly sampled: number;
  readonly usage?: EngineUsage | undefined;
  readonly failure?: ApiError | undefined;
}

/**
 * Samples one output: engine -> parser -> rules -> assembler -> sink, once per engine chunk. Whatever happens on the
 * way, what was sampled is parsed, closed, counted and returned. Where the rules want something that the model did not
 * write, a second generation goes on behind what was delivered; its prompt is the same but for what was added, so
 * the engine finds it in its cache.
 */
export async function sample(input: SamplingInput): Promise<SamplingResult> {
  const { assembler, check, rules } = input;
  let engineUsage: EngineUsage | undefined;
  let opening = rules.first();
  let sampled = 0;
  let begun = false;
  const onFirstChunk = () => {
    if (!begun) input.onFirstChunk();
    begun = true;
  };
  for (;;) {
    const opened = input.format.generationPrompt(input.effort, opening);
    const written = assembler.items.slice(input.folded).map(({ ids }) => ids);
    const prompt = input.promptWith({ written, opened });
    const maxTokens = Math.min(input.request.maxTokens - sampled, input.contextTokens - prompt.length);
    const generation: Generation =
      maxTokens < 1
        ? { finish: 'length', sampled: 0 }
        : await generate({ ...input, onFirstChunk }, opened, {
            ...input.request,
            prompt,
            maxTokens,
            json: opening?.kind === 'answer' ? input.answerSchema : undefined,
          });
    // Of a second prompt the engine has nearly all in its cache, and the client sent the first.
    if (sampled === 0) engineUsage = generation.usage;
    sampled += generation.sampled;
    let { failure } = generation;
    if (rules.steered) {
      const ending: Ending = { status: 'incomplete', reason: 'steered' };
      return { ending, usage: usageOf(input.promptTokens, sampled, assembler.reasoningTokens, engineUsage) };
    }
    if (failure === undefined && generation.finish === 'stop') {
      try {
        opening = rules.next();
      } catch (thrown) {
        failure = ApiError.from(thrown);
      }
      if (failure === undefined && opening !== undefined) continue;
      failure ??= check && answerFault(assembler.items.slice(input.folded), check);
    }
    return {
      ending: endingOf(generation.finish, failure),
      failure,
      usage: usageOf(input.promptTokens, sampled, assembler.reasoningTokens, engineUsage),
    };
  }
}

async function generate(
  input: SamplingInput,
  opened: readonly number[],
  request: GenerateRequest,
): Promise<Generation> {
  const { engine, rules, assembler, sink, signal } = input;
  const parser = input.format.parser(input.tools, opened);
  let sampled = 0;
  let finish: FinishReason | undefined;
  let usage: EngineUsage | undefined;
  let failure: ApiError | undefined;
  try {
    for await (const chunk of engine.generate(request, signal)) {
      input.onFirstChunk();
      finish = chunk.finish ?? finish;
      usage = chunk.usage ?? usage;
      if (chunk.ids.length > 0) {
        sampled += chunk.ids.length;
        const { passed, stop } = rules.take(parser.push(chunk.ids));
        const frames = assembler.push(passed);
        if (frames.length > 0) sink.send(frames);
        // Leaving the loop ends the engine's request.
        if (stop) return { finish: 'stop', sampled, usage };
      }
      const caughtUp = sink.ready();
      if (caughtUp !== undefined) await caughtUp;
    }
  } catch (thrown) {
    finish = 'abort';
    failure = signal.aborted ? stopReason(signal) : ApiError.from(thrown);
  }
  if (finish === 'abort' && !signal.aborted) failure ??= new ApiError('engine_error');
  const closing =
    finish === 'abort' && input.interrupted()
      ? assembler.discardOpen()
      : assembler.push(rules.take(parser.finish(finish ?? 'abort')).passed);
  if (closing.length > 0) sink.send(closing);
  return { finish: finish ?? 'abort', sampled, usage, failure };
}

function endingOf(finish: FinishReason, failure: ApiError | undefined): Ending {
  if (failure !== undefined) return failedBy(failure);
  if (finish === 'stop') return { status: 'completed' };
  return { status: 'incomplete', reason: finish === 'length' ? 'max_output_tokens' : 'interrupted' };
}
