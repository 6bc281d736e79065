import type {
  EngineCapabilities,
  EngineChunk,
  EngineClient,
  GenerateRequest,
  MessageChunk,
  MessageRequest,
} from '@turnpike/inference';
import type { PromptEnding } from '@turnpike/rendering';
import { Routing } from '@turnpike/routing';
import type { Artifacts } from '@turnpike/turns';
import { artifactOf } from './artifact-of.js';
import { enginePrompt, type EnginePrompt } from './engine-prompt.js';
import { RacingEngine } from './racing-engine.js';
import type { SafetyGate } from './safety-gate.js';

/**
 * The one way to an engine: with a verdict on exactly the chain whose prompt it is given. Nothing else in the gateway calls
 * an engine client, and a lint rule sees to that.
 */
export class ClearedEngine implements EngineClient {
  readonly name: string;
  readonly #engine: Pick<EngineClient, 'generate' | 'converse'>;
  readonly #capable: Pick<EngineClient, 'capabilities'>;
  readonly #artifacts: Artifacts;
  /** Prompts, and requests of messages, of this chain. */
  readonly #prompts = new WeakSet<object>();
  readonly #racing: RacingEngine | undefined;

  private constructor(artifacts: Artifacts, engine: EngineClient, racing: RacingEngine | undefined) {
    this.name = engine.name;
    this.#capable = engine;
    this.#artifacts = artifacts;
    this.#engine = racing ?? engine;
    this.#racing = racing;
  }

  /**
   * The engine of a chain. Where its verdict is still to come, what is generated waits for it.
   * @param artifacts of every stage
   */
  static of(artifacts: Artifacts, safety: SafetyGate): ClearedEngine {
    const { engine } = artifactOf(artifacts, Routing);
    const verdict = safety.pending(artifacts);
    return new ClearedEngine(artifacts, engine, verdict && new RacingEngine(engine, verdict));
  }

  /** Tokens that were generated and never shown, because the verdict was against them. */
  get withheld(): number {
    return this.#racing?.withheld ?? 0;
  }

  /** The chain as a prompt, which this engine takes. */
  prompt(ending?: PromptEnding): EnginePrompt {
    const prompt = enginePrompt(this.#artifacts, ending);
    this.#prompts.add(prompt.json);
    return prompt;
  }

  /** @throws Error for a prompt of another chain */
  generate(request: GenerateRequest, signal: AbortSignal): AsyncIterable<EngineChunk> {
    if (!this.#prompts.has(request.prompt.json))
      throw new Error('An engine is cleared for the prompts of one chain.');
    return this.#engine.generate(request, signal);
  }

  /** A request that is made of the chain and what the model itself has written behind it, which this engine takes. */
  messages(make: () => MessageRequest): MessageRequest {
    const request = make();
    this.#prompts.add(request);
    return request;
  }

  /** @throws Error for a request of another chain, and for an engine that takes no messages */
  converse(request: MessageRequest, signal: AbortSignal): AsyncIterable<MessageChunk> {
    if (!this.#prompts.has(request)) throw new Error('An engine is cleared for the messages of one chain.');
    if (this.#engine.converse === undefined) throw new Error(`The engine '${this.name}' takes no messages.`);
    return this.#engine.converse(request, signal);
  }

  capabilities(signal?: AbortSignal): Promise<EngineCapabilities> {
    return this.#capable.capabilities(signal);
  }

  /** The connections are those of the engine itself. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}
