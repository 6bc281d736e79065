import { ResponseAssembler, type Ending } from '@turnpike/assembly';
import { historyOf, resolveParent, type ResponseNode, type ResponseStore } from '@turnpike/conversation';
import type { OutputParser } from '@turnpike/formats';
import type { GenerateRequest } from '@turnpike/inference';
import { ApiError, mintId, newResponse, responseErrorCode, type Usage } from '@turnpike/protocol';
import { promptOf, Rendering } from '@turnpike/rendering';
import { Routing, type Route } from '@turnpike/routing';
import { Validation } from '@turnpike/validation';
import { TurnContext, TurnLifecycle, type Artifacts, type Pipeline, type StageToken } from '@turnpike/turns';
import { commit } from './commit.js';
import { KeepAlive } from './keep-alive.js';
import { sample, usageOf, type SamplingResult } from './sampling.js';
import { logTurn } from './turn-log.js';
import type { TurnInput, TurnOutcome } from './turn-input.js';

export interface TurnParts {
  readonly pipeline: Pipeline;
  readonly store: ResponseStore;
  /** Silence after which a sign of life is sent, in ms. */
  readonly keepAliveMs: number;
}

/** What a response ended as, before it is committed. */
interface Result {
  readonly ending: Ending;
  readonly usage: Usage;
  readonly failure?: ApiError | undefined;
  /** Of every stage, after the input; undefined when preparation did not get that far, and nothing can follow. */
  readonly artifacts?: Artifacts | undefined;
}

/** What sampling needs once the prompt stands. */
interface Sampling {
  readonly turn: TurnContext;
  readonly assembler: ResponseAssembler;
  readonly keepAlive: KeepAlive;
  readonly route: Route;
  readonly prompt: GenerateRequest['prompt'];
  /** Most tokens the engine may sample. */
  readonly maxTokens: number;
  readonly parser: OutputParser;
}

/** One turn, from its request to its terminal event. */
export class TurnRun {
  readonly #input: TurnInput;
  readonly #parts: TurnParts;
  readonly #lifecycle = new TurnLifecycle();
  readonly #id = mintId('response');

  constructor(input: TurnInput, parts: TurnParts) {
    this.#input = input;
    this.#parts = parts;
  }

  /** @throws ApiError when there is no response */
  async run(): Promise<TurnOutcome> {
    const { request, signal } = this.#input;
    const parent = await this.#parent();
    const turn = this.#turn(parent);
    const onGone = () => turn.abort(signal.reason);
    signal.addEventListener('abort', onGone, { once: true });
    if (signal.aborted) onGone();
    try {
      await this.#parts.pipeline.run(turn, parent?.artifacts, 'admission');
      this.#lifecycle.move('admitted');
      const assembler = this.#begin();
      return await this.#end(turn, parent, assembler, await this.#answer(turn, parent, assembler));
    } catch (thrown) {
      if (request.previousResponseId !== undefined) this.#evict(request.previousResponseId);
      throw thrown;
    } finally {
      signal.removeEventListener('abort', onGone);
    }
  }

  async #parent(): Promise<ResponseNode | undefined> {
    const { request, tenant, connection } = this.#input;
    const { previousResponseId } = request;
    if (previousResponseId === undefined) return undefined;
    const { store } = this.#parts;
    const sources = connection === undefined ? [store] : [connection.cache, connection.lost, store];
    return resolveParent(tenant, previousResponseId, sources);
  }

  #turn(parent: ResponseNode | undefined): TurnContext {
    const { request, tenant } = this.#input;
    return new TurnContext({
      id: this.#id,
      tenant,
      request,
      items: request.input.map((item) => ({ item })),
      history: () => historyOf(parent),
    });
  }

  #begin(): ResponseAssembler {
    const { request, sink } = this.#input;
    const response = newResponse(this.#id, request, Math.floor(Date.now() / 1000));
    const assembler = new ResponseAssembler(response, {
      toolsKey: request.toolsKey,
      streamId: request.streamId,
    });
    sink.send(assembler.begin());
    return assembler;
  }

  /** Preparation and sampling. What goes wrong from here on is how the response ends, not an exception. */
  async #answer(
    turn: TurnContext,
    parent: ResponseNode | undefined,
    assembler: ResponseAssembler,
  ): Promise<Result> {
    const keepAlive = new KeepAlive(this.#input.sink, () => assembler.keepAlive(), this.#parts.keepAliveMs);
    let promptTokens = 0;
    try {
      const artifacts = await this.#parts.pipeline.run(turn, parent?.artifacts, 'preparation');
      const route = artifactOf(artifacts, Routing);
      const prompt = promptOf(artifactOf(artifacts, Rendering), route.format);
      promptTokens = prompt.length;
      const maxTokens = this.#maxTokens(route, prompt.length);
      if (!this.#input.request.generate) {
        return { artifacts, ending: { status: 'completed' }, usage: usageOf(promptTokens, 0, 0, undefined) };
      }
      const tools = [...this.#input.request.tools, ...artifactOf(artifacts, Validation).addedTools];
      const parser = route.format.parser(tools);
      const sampled = await this.#sample({ turn, assembler, keepAlive, route, prompt, maxTokens, parser });
      return { artifacts, ...sampled };
    } catch (thrown) {
      const usage = usageOf(promptTokens, 0, 0, undefined);
      if (this.#input.signal.aborted)
        return { ending: { status: 'incomplete', reason: 'interrupted' }, usage };
      const failure = ApiError.from(thrown);
      const { code, message } = failure;
      return { ending: { status: 'failed', code: responseErrorCode(code), message }, failure, usage };
    } finally {
      keepAlive.stop();
    }
  }

  /** @throws ApiError context_length_exceeded when the prompt leaves no room for an answer */
  #maxTokens({ contextTokens }: Route, promptTokens: number): number {
    const room = contextTokens - promptTokens;
    if (room < 1) {
      throw new ApiError('context_length_exceeded', {
        param: 'input',
        message: `The input has ${promptTokens} tokens; the context window of the model holds ${contextTokens}.`,
      });
    }
    return Math.min(this.#input.request.maxOutputTokens ?? room, room);
  }

  #sample({
    turn,
    assembler,
    keepAlive,
    route,
    prompt,
    maxTokens,
    parser,
  }: Sampling): Promise<SamplingResult> {
    const { temperature, topP } = this.#input.request;
    this.#lifecycle.move('dispatched');
    return sample({
      engine: route.engine,
      request: {
        model: route.engineModel,
        prompt,
        maxTokens,
        stopIds: route.format.stopIds,
        temperature,
        topP,
      },
      parser,
      assembler,
      sink: keepAlive,
      signal: turn.signal,
      onFirstChunk: () => this.#lifecycle.move('streaming'),
    });
  }

  /** Commits the response, then writes its terminal event: its id can be used the moment a client reads it. */
  async #end(
    turn: TurnContext,
    parent: ResponseNode | undefined,
    assembler: ResponseAssembler,
    { ending, usage, failure, artifacts }: Result,
  ): Promise<TurnOutcome> {
    const { sink, request } = this.#input;
    assembler.end(ending, usage, Math.floor(Date.now() / 1000));
    this.#lifecycle.move(this.#input.signal.aborted ? 'cancelled' : ending.status);
    if (ending.status === 'failed') {
      if (request.previousResponseId !== undefined) this.#evict(request.previousResponseId);
    } else if (artifacts !== undefined) {
      await commit({ turn, parent, assembler, artifacts, input: this.#input, ...this.#parts });
    }
    sink.send([assembler.terminal()]);
    this.#lifecycle.move('settled');
    const transport = this.#input.connection === undefined ? 'http' : 'websocket';
    logTurn({ turn, response: assembler.response, transport, lifecycle: this.#lifecycle, failure });
    return { response: assembler.response, failure };
  }

  /** A continuation that failed takes its parent out of the connection's cache; one whose client left does not. */
  #evict(parentId: string): void {
    const { connection, signal } = this.#input;
    if (!signal.aborted) connection?.cache.failed(parentId, connection.lane);
  }
}

/** The pipeline has run every stage of the list. */
function artifactOf<A>(artifacts: Artifacts, token: StageToken<A>): A {
  return artifacts.get(token.name) as A;
}
