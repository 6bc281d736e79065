import type { ResponseAssembler } from '@turnpike/assembly';
import { Images } from '@turnpike/images';
import { ApiError } from '@turnpike/protocol';
import { Routing, type Route } from '@turnpike/routing';
import type { Artifacts, Pipeline, TurnContext, TurnItem } from '@turnpike/turns';
import type { AnsweredChain } from './answered.js';
import { artifactOf } from './artifact-of.js';
import { enginePromptLength } from './engine-prompt.js';
import type { ResponseControl } from './response-control.js';
import type { SafetyGate } from './safety-gate.js';
import { writtenItems } from './written-items.js';

export interface OpenChainParts {
  readonly pipeline: Pipeline;
  readonly safety: SafetyGate;
  readonly assembler: ResponseAssembler;
  readonly control: ResponseControl;
}

/** The chain of a response while it is answered: what the model writes and what the client gives it is folded in. */
export class OpenChain {
  readonly #parts: OpenChainParts;
  #turn: TurnContext;
  #artifacts: Artifacts | undefined;
  readonly #output: TurnItem[] = [];
  #folded = 0;
  #callsMade = 0;

  constructor(turn: TurnContext, parts: OpenChainParts) {
    this.#turn = turn;
    this.#parts = parts;
  }

  /** The turn a step further with each fold. */
  get turn(): TurnContext {
    return this.#turn;
  }

  /** Items of the output that are folded in. */
  get folded(): number {
    return this.#folded;
  }

  /** Calls among those. */
  get callsMade(): number {
    return this.#callsMade;
  }

  /** @throws Error before {@link prepare} */
  get artifacts(): Artifacts {
    if (this.#artifacts === undefined) throw new Error('the turn has not been prepared');
    return this.#artifacts;
  }

  get route(): Route {
    return artifactOf(this.artifacts, Routing);
  }

  /** Tokens of the images in the prompt. */
  get imageTokens(): number {
    return artifactOf(this.artifacts, Images).tokens;
  }

  get promptTokens(): number {
    return enginePromptLength(this.artifacts);
  }

  /** What a further response may go on from; undefined before there is anything. */
  get answered(): AnsweredChain | undefined {
    if (this.#artifacts === undefined) return undefined;
    const folded = Math.min(this.#folded, this.#parts.assembler.items.length);
    return { turn: this.#turn, artifacts: this.#artifacts, output: this.#output, folded };
  }

  /** What {@link SafetyGate} shows of it; undefined before there is anything. */
  get known(): Artifacts | undefined {
    return this.#artifacts;
  }

  /**
   * Runs the stages of preparation.
   * @param races whether the verdict on the input is not waited for
   */
  async prepare(previous: Artifacts | undefined, races: boolean): Promise<void> {
    const { pipeline, safety } = this.#parts;
    const prepared = await pipeline.run(this.#turn, previous, 'preparation');
    this.#artifacts = races ? prepared : await safety.settled(prepared);
  }

  /** The same chain as another stage result has it: by another route, or with more known of it. */
  become(artifacts: Artifacts): void {
    this.#artifacts = artifacts;
  }

  /** Waits for the verdict on the chain: why it may not be gone on from, if so. */
  async refusal(): Promise<ApiError | undefined> {
    if (this.#artifacts === undefined) return undefined;
    try {
      this.#artifacts = await this.#parts.safety.settled(this.#artifacts);
      return undefined;
    } catch (thrown) {
      return ApiError.from(thrown);
    }
  }

  /** @throws ApiError context_length_exceeded when the prompt leaves no room for an answer */
  requireRoom(): void {
    const { contextTokens } = this.route;
    const length = this.promptTokens;
    if (length < contextTokens) return;
    throw new ApiError('context_length_exceeded', {
      param: 'input',
      message: `The input has ${length} tokens; the context window of the model holds ${contextTokens}.`,
    });
  }

  /**
   * Puts what the model wrote and what the client answered into the prompt; returns the tokens of the latter.
   * @throws ApiError context_length_exceeded
   */
  async takeOutputs(): Promise<number> {
    await this.#foldWritten();
    const before = this.promptTokens;
    await this.fold(outputItems(this.#parts.control), 'input');
    this.requireRoom();
    return this.promptTokens - before;
  }

  /** What the client was told to be taken stays in the chain, though nothing is made of it and other calls may wait. */
  async keepOutputs(): Promise<void> {
    const { control } = this.#parts;
    while (control.hasUnread) {
      await this.#foldWritten();
      await this.fold(outputItems(control), 'input', { ...this.#turn.request, generate: false });
    }
    control.close();
  }

  async fold(
    items: readonly TurnItem[],
    phase: 'input' | 'output',
    request = this.#turn.request,
  ): Promise<void> {
    const turn = this.#turn.next(items, phase, request);
    const { pipeline, safety, assembler } = this.#parts;
    this.#artifacts = await safety.settled(await pipeline.run(turn, this.artifacts));
    this.#turn = turn;
    this.#output.push(...items);
    this.#folded = assembler.items.length;
  }

  async #foldWritten(): Promise<void> {
    const written = this.#parts.assembler.items.slice(this.#folded);
    this.#callsMade += written.filter(({ item }) => 'call_id' in item).length;
    await this.fold(writtenItems(written, this.route.format), 'output');
  }
}

function outputItems(control: ResponseControl): TurnItem[] {
  return control.takeOutputs().map((item) => ({ item }));
}
