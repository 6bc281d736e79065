import type { FinishReason, OutputParser } from '@turnpike/formats';
import type { EngineClient, EngineUsage, GenerateRequest } from '@turnpike/inference';
import { ApiError, responseErrorCode, type Usage } from '@turnpike/protocol';
import type { Ending, ResponseAssembler } from '@turnpike/assembly';
import type { EventSink } from './event-sink.js';

export interface SamplingInput {
  readonly engine: EngineClient;
  readonly request: GenerateRequest;
  readonly parser: OutputParser;
  readonly assembler: ResponseAssembler;
  readonly sink: EventSink;
  readonly signal: AbortSignal;
  /** Called when the engine's answer begins. */
  readonly onFirstChunk: () => void;
}

export interface SamplingResult {
  readonly ending: Ending;
  /** Set when the engine is to blame. */
  readonly failure?: ApiError | undefined;
  readonly usage: Usage;
}

/**
 * Samples one output: engine -> parser -> assembler -> sink, once per engine chunk. Whatever happens on the way, what
 * was sampled is parsed, closed, counted and returned.
 */
export async function sample(input: SamplingInput): Promise<SamplingResult> {
  const { engine, request, parser, assembler, sink, signal } = input;
  let sampled = 0;
  let begun = false;
  let finish: FinishReason | undefined;
  let engineUsage: EngineUsage | undefined;
  let failure: ApiError | undefined;
  try {
    for await (const chunk of engine.generate(request, signal)) {
      if (!begun) input.onFirstChunk();
      begun = true;
      finish = chunk.finish ?? finish;
      engineUsage = chunk.usage ?? engineUsage;
      if (chunk.ids.length > 0) {
        sampled += chunk.ids.length;
        const frames = assembler.push(parser.push(chunk.ids));
        if (frames.length > 0) sink.send(frames);
      }
      const caughtUp = sink.ready();
      if (caughtUp !== undefined) await caughtUp;
    }
  } catch (thrown) {
    finish = 'abort';
    if (!signal.aborted) failure = ApiError.from(thrown);
  }
  if (finish === 'abort' && !signal.aborted) failure ??= new ApiError('engine_error');
  const closing = assembler.push(parser.finish(finish ?? 'abort'));
  if (closing.length > 0) sink.send(closing);
  return {
    ending: endingOf(finish, failure),
    failure,
    usage: usageOf(request.prompt.length, sampled, assembler.reasoningTokens, engineUsage),
  };
}

function endingOf(finish: FinishReason | undefined, failure: ApiError | undefined): Ending {
  if (failure !== undefined) {
    return { status: 'failed', code: responseErrorCode(failure.code), message: failure.message };
  }
  if (finish === 'stop') return { status: 'completed' };
  return { status: 'incomplete', reason: finish === 'length' ? 'max_output_tokens' : 'interrupted' };
}

/** Counts are ours, from the ids themselves; only what was cached is the engine's word, and never above the prompt. */
export function usageOf(
  promptTokens: number,
  outputTokens: number,
  reasoningTokens: number,
  engine: EngineUsage | undefined,
): Usage {
  return {
    input_tokens: promptTokens,
    input_tokens_details: {
      cached_tokens: Math.min(engine?.cachedTokens ?? 0, promptTokens),
      cache_write_tokens: 0,
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: promptTokens + outputTokens,
  };
}
