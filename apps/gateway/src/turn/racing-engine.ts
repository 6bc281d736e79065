import type { EngineChunk, EngineClient, GenerateRequest } from '@turnpike/inference';

/** Chunks that are kept until the verdict is there; then the engine waits as well. */
const MOST_HELD = 4_096;

type Step =
  | { readonly kind: 'chunk'; readonly result: IteratorResult<EngineChunk, unknown> }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'passed' }
  | { readonly kind: 'refused'; readonly error: unknown };

/**
 * An engine that starts at once, and whose output is held back until the verdict on its input is there. When that is against
 * it, the engine's request is aborted and nothing of its output is ever given to anybody.
 */
export class RacingEngine implements Pick<EngineClient, 'generate'> {
  readonly #engine: Pick<EngineClient, 'generate'>;
  readonly #verdict: Promise<Step>;
  /** Tokens that were generated, and dropped. */
  withheld = 0;

  /** @param verdict rejects when the input is refused */
  constructor(engine: Pick<EngineClient, 'generate'>, verdict: Promise<unknown>) {
    this.#engine = engine;
    this.#verdict = verdict.then(
      (): Step => ({ kind: 'passed' }),
      (error: unknown): Step => ({ kind: 'refused', error }),
    );
  }

  /** @throws the reason of a refusal, and what the engine throws */
  async *generate(request: GenerateRequest, signal: AbortSignal): AsyncGenerator<EngineChunk> {
    const refusal = new AbortController();
    const both = AbortSignal.any([signal, refusal.signal]);
    const chunks = this.#engine.generate(request, both)[Symbol.asyncIterator]();
    try {
      let next = stepOf(chunks);
      const held: EngineChunk[] = [];
      for (let goesOn = true; goesOn;) {
        const step = await (held.length < MOST_HELD ? Promise.race([this.#verdict, next]) : this.#verdict);
        if (step.kind === 'passed') break;
        if (step.kind === 'refused') throw this.#refused(step.error, held);
        if (step.kind === 'failed' || step.result.done === true) goesOn = false;
        else {
          held.push(step.result.value);
          next = stepOf(chunks);
        }
      }
      const verdict = await this.#verdict;
      if (verdict.kind === 'refused') throw this.#refused(verdict.error, held);
      yield* held;
      for (let step = await next; ; step = await next) {
        if (step.kind === 'failed') throw step.error;
        if (step.kind !== 'chunk' || step.result.done === true) return;
        yield step.result.value;
        next = stepOf(chunks);
      }
    } finally {
      refusal.abort();
      await chunks.return?.().catch(() => undefined);
    }
  }

  #refused(error: unknown, held: readonly EngineChunk[]): unknown {
    this.withheld += held.reduce((sum, { ids }) => sum + ids.length, 0);
    return error;
  }
}

function stepOf(chunks: AsyncIterator<EngineChunk, unknown>): Promise<Step> {
  return chunks.next().then(
    (result): Step => ({ kind: 'chunk', result }),
    (error: unknown): Step => ({ kind: 'failed', error }),
  );
}
