import type { AssembledItem } from '@turnpike/assembly';
import type { FinishReason, Format, Opening, OutputEvent, OutputParser } from '@turnpike/formats';
import type { EngineClient, GenerateRequest } from '@turnpike/inference';
import type { Tool } from '@turnpike/protocol';
import type { PromptEnding } from '@turnpike/rendering';
import type { EnginePrompt } from './engine-prompt.js';
import type { Generation, GenerationChunk, GenerationSource } from './generation.js';
import { possibleUsage } from './possible-usage.js';

export interface TokenGenerationsInput {
  readonly engine: EngineClient;
  readonly format: Format;
  readonly tools: readonly Tool[];
  readonly request: Omit<GenerateRequest, 'prompt' | 'json' | 'maxTokens'>;
  /** The conversation as a prompt that ends with this. */
  readonly promptWith: (ending: PromptEnding) => EnginePrompt;
  /** Most tokens of prompt and output together. */
  readonly contextTokens: number;
  /** JSON Schema that the engine binds the answer to. */
  readonly answerSchema?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Token ids in and out. What the model is made to write is written into the prompt; what was sampled before it stands there
 * as it was sampled, so that the engine finds it in its cache.
 */
export class TokenGenerations implements GenerationSource {
  readonly countsByEngine = false;
  readonly #input: TokenGenerationsInput;

  constructor(input: TokenGenerationsInput) {
    this.#input = input;
  }

  begin(
    written: readonly AssembledItem[],
    opening: Opening | undefined,
    maxTokens: number,
  ): Promise<Generation | undefined> {
    const { format, tools, engine, request, promptWith, contextTokens, answerSchema } = this.#input;
    const { opened, ...prompt } = promptWith({
      written: written.flatMap(({ item, ids }) => (ids === undefined ? [] : [{ item, ids }])),
      opening,
    });
    const most = Math.min(maxTokens, contextTokens - prompt.length);
    if (most < 1) return Promise.resolve(undefined);
    const json = opening?.kind === 'answer' ? answerSchema : undefined;
    const chunks = (signal: AbortSignal) =>
      engine.generate({ ...request, prompt, maxTokens: most, json }, signal);
    return Promise.resolve(new TokenGeneration(prompt.length, most, format.parser(tools, opened), chunks));
  }
}

class TokenGeneration implements Generation {
  constructor(
    readonly promptTokens: number,
    private readonly maxTokens: number,
    private readonly parser: OutputParser,
    private readonly generate: (signal: AbortSignal) => ReturnType<EngineClient['generate']>,
  ) {}

  async *chunks(signal: AbortSignal): AsyncGenerator<GenerationChunk> {
    let left = this.maxTokens;
    for await (const { ids, lost = 0, finish, usage } of this.generate(signal)) {
      const events = ids.length === 0 ? [] : this.parser.push(ids);
      const sampled = Math.min(ids.length + lost, left);
      left -= sampled;
      // What is read and written is counted here: theirs to say is what of it was cached, and how many ids they did not send.
      const theirs = { completionTokens: ids.length + lost, cachedTokens: usage?.cachedTokens };
      const possible = possibleUsage(theirs, { prompt: this.promptTokens, output: sampled });
      yield { events, sampled, finish, usage: usage === undefined && !possible.isCut ? undefined : possible };
    }
  }

  close(reason: FinishReason): readonly OutputEvent[] {
    return this.parser.finish(reason);
  }
}
