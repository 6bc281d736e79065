import {
  type EngineChunk,
  type EngineClient,
  type GenerateRequest,
  type MessageChunk,
  type MessageRequest,
} from '@turnpike/inference';
import { ApiError } from '@turnpike/protocol';

/** Chunks that are kept until the verdict is there; then the engine waits as well. */
const MOST_HELD = 4_096;

type Verdict = { readonly kind: 'passed' } | { readonly kind: 'refused'; readonly error: unknown };

type Step<Chunk> =
  | { readonly kind: 'chunk'; readonly result: IteratorResult<Chunk, unknown> }
  | { readonly kind: 'failed'; readonly error: unknown };

/**
 * An engine that starts at once, and whose output is held back until the verdict on its input is there. When that is against
 * it, the engine's request is aborted and nothing of its output is ever given to anybody.
 */
export class RacingEngine implements Pick<EngineClient, 'generate' | 'converse'> {
  readonly #engine: Pick<EngineClient, 'generate' | 'converse'>;
  readonly #verdict: Promise<Verdict>;
  /** Tokens that were generated, and dropped. */
  withheld = 0;

  /** @param verdict rejects when the input is refused */
  constructor(engine: Pick<EngineClient, 'generate' | 'converse'>, verdict: Promise<unknown>) {
    this.#engine = engine;
    this.#verdict = verdict.then(
      (): Verdict => ({ kind: 'passed' }),
      (error: unknown): Verdict => ({ kind: 'refused', error }),
    );
  }

  /** @throws the reason of a refusal, and what the engine throws */
  generate(request: GenerateRequest, signal: AbortSignal): AsyncGenerator<EngineChunk> {
    const start = (both: AbortSignal) => this.#engine.generate(request, both);
    return this.#race(start, ({ ids }) => ids.length, signal);
  }

  /** @throws the reason of a refusal, and what the engine throws */
  converse(request: MessageRequest, signal: AbortSignal): AsyncGenerator<MessageChunk> {
    const start = (both: AbortSignal) => {
      if (this.#engine.converse !== undefined) return this.#engine.converse(request, both);
      throw new ApiError('engine_error', { cause: new Error('the engine takes no messages') });
    };
    return this.#race(start, ({ sampled }) => sampled, signal);
  }

  async *#race<Chunk>(
    start: (signal: AbortSignal) => AsyncIterable<Chunk>,
    tokensOf: (chunk: Chunk) => number,
    signal: AbortSignal,
  ): AsyncGenerator<Chunk> {
    const refusal = new AbortController();
    const both = AbortSignal.any([signal, refusal.signal]);
    const chunks = start(both)[Symbol.asyncIterator]();
    let next = stepOf(chunks);
    const held: Chunk[] = [];
    const refused = async (error: unknown): Promise<unknown> => {
      for (const chunk of held) this.withheld += tokensOf(chunk);
      refusal.abort();
      // What the engine had produced when it was stopped.
      for (let step = await next; step.kind === 'chunk' && step.result.done !== true; step = await next) {
        this.withheld += tokensOf(step.result.value);
        next = stepOf(chunks);
      }
      return error;
    };
    try {
      for (let goesOn = true; goesOn;) {
        const step = await (held.length < MOST_HELD ? Promise.race([this.#verdict, next]) : this.#verdict);
        if (step.kind === 'passed') break;
        if (step.kind === 'refused') throw await refused(step.error);
        if (step.kind === 'failed' || step.result.done === true) goesOn = false;
        else {
          held.push(step.result.value);
          next = stepOf(chunks);
        }
      }
      const verdict = await this.#verdict;
      if (verdict.kind === 'refused') throw await refused(verdict.error);
      yield* held;
      for (let step = await next; ; step = await next) {
        if (step.kind === 'failed') throw step.error;
        if (step.result.done === true) return;
        yield step.result.value;
        next = stepOf(chunks);
      }
    } finally {
      refusal.abort();
      await chunks.return?.().catch(() => undefined);
    }
  }
}

function stepOf<Chunk>(chunks: AsyncIterator<Chunk, unknown>): Promise<Step<Chunk>> {
  return chunks.next().then(
    (result): Step<Chunk> => ({ kind: 'chunk', result }),
    (error: unknown): Step<Chunk> => ({ kind: 'failed', error }),
  );
}
