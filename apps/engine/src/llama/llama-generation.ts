import { type TokenSink } from '../generation/generation.js';
import { type OutputEnd } from '../generation/output-end.js';
import { type EngineStats, type RequestRecord } from '../generation/stats.js';
import { type CompletionRequest } from '../http/completion-request.js';
import { type LlamaModel, type SamplingOptions } from './node-llama-cpp.js';
import { type Lease, type SequencePool } from './sequence-pool.js';

/** Tokens of a prompt evaluated at a time: other requests get a token in between, and a client that leaves is noticed. */
export const PREFILL_TOKENS = 64;

/** What one generation works with. */
export interface GenerationContext {
  readonly pool: SequencePool;
  readonly model: Pick<LlamaModel, 'isEogToken'>;
  readonly stats: EngineStats;
  readonly record: RequestRecord;
  readonly sink: TokenSink;
  /** Aborts when the client has left. */
  readonly signal: AbortSignal;
  /** Resolves when a sink that asked to wait can take more. */
  readonly drained: () => Promise<unknown>;
}

/** Evaluates one prompt, samples its output token by token, and writes down what it did. */
export class LlamaGeneration {
  private readonly sampling: SamplingOptions;

  constructor(
    private readonly prompt: readonly number[],
    private readonly request: CompletionRequest,
    private readonly context: GenerationContext,
  ) {
    this.sampling = samplingOptions(request);
  }

  /** Runs to the end, whichever it is; never rejects. */
  async run(): Promise<void> {
    const { pool, signal, stats, record, sink } = this.context;
    try {
      const lease = await pool.acquire(this.prompt, this.request.cacheSalt, signal);
      await this.generate(lease);
    } catch (error) {
      if (!signal.aborted) {
        record.finish_reason = 'error';
        sink.fail(
          `The engine failed while generating: ${error instanceof Error ? error.message : 'unknown'}`,
        );
      }
    } finally {
      stats.running--;
      if (signal.aborted && record.finish_reason === null) {
        record.aborted = true;
        record.finish_reason = 'abort';
        stats.aborted++;
      }
    }
  }

  private async generate(lease: Lease): Promise<void> {
    const { signal } = this.context;
    let last: number | undefined;
    try {
      const rest = await this.prefill(lease);
      if (!signal.aborted) last = await this.sample(lease, rest);
    } catch (error) {
      lease.discard();
      throw error;
    }
    lease.release(last);
  }

  /** Evaluates the prompt but for its last piece, which it returns: the first token is sampled after that. */
  private async prefill({ sequence, kept }: Lease): Promise<readonly number[]> {
    const { signal } = this.context;
    let at = kept;
    for (; this.prompt.length - at > PREFILL_TOKENS && !signal.aborted; at += PREFILL_TOKENS) {
      await sequence.evaluateWithoutGeneratingNewTokens(this.prompt.slice(at, at + PREFILL_TOKENS));
    }
    return this.prompt.slice(at);
  }

  /** The last token sampled, which is not evaluated yet; undefined when the client has left. */
  private async sample({ sequence, evaluated }: Lease, rest: readonly number[]): Promise<number | undefined> {
    const { record, stats, sink, signal, drained } = this.context;
    for await (const token of sequence.evaluate(rest, this.sampling)) {
      if (record.completion_tokens === 0) {
        // Counted by the engine itself, so that what it had to evaluate again is not called cached.
        record.cached_tokens = Math.max(0, this.prompt.length - evaluated());
      }
      if (signal.aborted) return undefined;
      record.completion_tokens++;
      stats.tokensGenerated++;
      const end = this.endAt(token, record.completion_tokens);
      if (end) record.finish_reason = end.finishReason;
      const ready = sink.tokens(Int32Array.of(token), end);
      if (end) return token;
      if (!ready) await drained();
      if (signal.aborted) return undefined;
    }
    throw new Error('the model gave no token');
  }

  private endAt(token: number, tokens: number): OutputEnd | undefined {
    const stops = this.request.stopTokenIds.includes(token);
    if (stops || this.context.model.isEogToken(token)) {
      return { tokens, finishReason: 'stop', stopReason: stops ? token : null };
    }
    return tokens === this.request.maxTokens
      ? { tokens, finishReason: 'length', stopReason: null }
      : undefined;
  }
}

/** Seeds of llama.cpp have 32 bits, and the greatest of them means "any". */
const SEEDS = 0xffff_ffff;

function samplingOptions({ temperature, topP, seed }: CompletionRequest): SamplingOptions {
  const given = seed ?? Math.floor(Math.random() * SEEDS);
  return {
    temperature,
    topP,
    topK: 0,
    minP: 0,
    seed: ((given % SEEDS) + SEEDS) % SEEDS,
    yieldEogToken: true,
  };
}
