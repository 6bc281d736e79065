import type { AssembledItem } from '@turnpike/assembly';
import type { FinishReason, Opening, OutputEvent } from '@turnpike/formats';
import type { EngineClient, EngineUsage, MessageRequest } from '@turnpike/inference';
import { ApiError } from '@turnpike/protocol';
import type { Artifacts } from '@turnpike/turns';
import { enginePromptLength } from './engine-prompt.js';
import type { Generation, GenerationChunk, GenerationSource } from './generation.js';
import { possibleUsage, type UsageBounds } from './possible-usage.js';

export interface MessageGenerationsInput {
  readonly engine: EngineClient;
  /** The conversation with these items behind it. */
  readonly behind: (written: readonly AssembledItem[]) => Promise<Artifacts>;
  /** The request for the answer to a conversation. */
  readonly requestFor: (
    artifacts: Artifacts,
    opening: Opening | undefined,
    maxTokens: number,
  ) => MessageRequest;
  /** Most tokens of prompt and output together. */
  readonly contextTokens: number;
}

/** Messages in, text out. What the model is made to do is asked for by the fields of the request. */
export class MessageGenerations implements GenerationSource {
  readonly countsByEngine = true;
  readonly #input: MessageGenerationsInput;

  constructor(input: MessageGenerationsInput) {
    this.#input = input;
  }

  async begin(
    written: readonly AssembledItem[],
    opening: Opening | undefined,
    maxTokens: number,
  ): Promise<Generation | undefined> {
    if (maxTokens < 1) return undefined;
    const { engine, behind, requestFor, contextTokens } = this.#input;
    const artifacts = await behind(written);
    const request = requestFor(artifacts, opening, maxTokens);
    const bounds = { prompt: contextTokens, output: maxTokens };
    return new MessageGeneration(engine, request, enginePromptLength(artifacts), bounds);
  }
}

class MessageGeneration implements Generation {
  constructor(
    private readonly engine: EngineClient,
    private readonly request: MessageRequest,
    readonly promptTokens: number,
    private readonly bounds: UsageBounds,
  ) {}

  async *chunks(signal: AbortSignal): AsyncGenerator<GenerationChunk> {
    if (this.engine.converse === undefined) {
      throw new ApiError('engine_error', { cause: new Error('the engine takes no messages') });
    }
    let counted = 0;
    let told: EngineUsage = {};
    for await (const { events, sampled, finish, usage: said } of this.engine.converse(this.request, signal)) {
      told = said ?? told;
      // What the server says in the end replaces what was counted on the way; neither is more than it was asked for.
      const output = said?.completionTokens ?? counted + sampled;
      const usage = possibleUsage({ ...told, completionTokens: output }, this.bounds);
      const fresh = Math.min(output, this.bounds.output) - counted;
      counted += fresh;
      yield { events, sampled: fresh, finish, usage };
    }
  }

  close(reason: FinishReason): readonly OutputEvent[] {
    return this.request.reader.close(reason);
  }
}
