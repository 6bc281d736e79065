import { ResponseAssembler, type Ending } from '@turnpike/assembly';
import { historyOf, type ResponseNode } from '@turnpike/conversation';
import { ApiError, mintId, newResponse, type TextFormat, type Tool, type Usage } from '@turnpike/protocol';
import { promptOf, Rendering, type Rendered } from '@turnpike/rendering';
import { Routing, type Route } from '@turnpike/routing';
import { answerCheck, toolRule, Validation } from '@turnpike/validation';
import { TurnContext, TurnLifecycle, type Artifacts, type Pipeline, type StageToken } from '@turnpike/turns';
import { packSampledIds } from '@turnpike/sealing';
import { beginningOf, type Beginning, type BeginningParts } from './beginning.js';
import { commit } from './commit.js';
import { failedBy, stopReason } from './ending.js';
import { KeepAlive } from './keep-alive.js';
import { OutputRules } from './output-rules.js';
import { sample, usageOf, type SamplingResult } from './sampling.js';
import { logTurn } from './turn-log.js';
import type { TurnInput, TurnOutcome } from './turn-input.js';

export interface TurnParts extends BeginningParts {
  readonly pipeline: Pipeline;
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
  readonly rendered: Rendered;
  readonly promptTokens: number;
  /** Most tokens the engine may sample. */
  readonly maxTokens: number;
  /** Tools that joined the chain as items. */
  readonly addedTools: readonly Tool[];
}

/** One turn, from its request to its terminal event. */
export class TurnRun {
  readonly #input: TurnInput;
  readonly #parts: TurnParts;
  readonly #lifecycle = new TurnLifecycle();
  readonly #id = mintId('response');
  readonly #interrupt = new AbortController();

  constructor(input: TurnInput, parts: TurnParts) {
    this.#input = input;
    this.#parts = parts;
  }

  /** @throws ApiError when there is no response */
  async run(): Promise<TurnOutcome> {
    const { request, signal } = this.#input;
    const beginning = await beginningOf(this.#input, this.#parts);
    const turn = this.#turn(beginning);
    const onGone = () => turn.abort(signal.reason);
    signal.addEventListener('abort', onGone, { once: true });
    if (signal.aborted) onGone();
    try {
      const admitted = await this.#parts.pipeline.run(turn, beginning.base?.artifacts, 'admission');
      this.#lifecycle.move('admitted');
      const assembler = this.#begin(admitted);
      return await this.#end(turn, beginning, assembler, await this.#answer(turn, beginning, assembler));
    } catch (thrown) {
      if (request.previousResponseId !== undefined) this.#evict(request.previousResponseId);
      throw thrown;
    } finally {
      signal.removeEventListener('abort', onGone);
    }
  }

  #turn({ base, items, known }: Beginning): TurnContext {
    const { request, tenant } = this.#input;
    return new TurnContext({ id: this.#id, tenant, request, items, known, history: () => historyOf(base) });
  }

  #begin(admitted: Artifacts): ResponseAssembler {
    const { request, tenant, sink } = this.#input;
    const response = newResponse(this.#id, request, Math.floor(Date.now() / 1000));
    const format = artifactOf(admitted, Routing).format.name;
    const assembler = new ResponseAssembler(response, {
      toolsKey: request.toolsKey,
      streamId: request.streamId,
      seal: (ids) => this.#parts.sealer.seal(tenant, packSampledIds({ format, ids })),
    });
    sink.send(assembler.begin());
    this.#input.connection?.onBegin(this.#id, () => {
      sink.send([assembler.interruptAccepted()]);
      this.#interrupt.abort();
    });
    return assembler;
  }

  /** Preparation and sampling. What goes wrong from here on is how the response ends, not an exception. */
  async #answer(turn: TurnContext, { base }: Beginning, assembler: ResponseAssembler): Promise<Result> {
    const keepAlive = new KeepAlive(this.#input.sink, () => assembler.keepAlive(), this.#parts.keepAliveMs);
    let promptTokens = 0;
    try {
      const artifacts = await this.#parts.pipeline.run(turn, base?.artifacts, 'preparation');
      const route = artifactOf(artifacts, Routing);
      const rendered = artifactOf(artifacts, Rendering);
      promptTokens = promptOf(rendered, route.format).length;
      const maxTokens = this.#maxTokens(route, promptTokens);
      if (!this.#input.request.generate) {
        return { artifacts, ending: { status: 'completed' }, usage: usageOf(promptTokens, 0, 0, undefined) };
      }
      const { addedTools } = artifactOf(artifacts, Validation);
      const sampled = await this.#sample({
        turn,
        assembler,
        keepAlive,
        route,
        rendered,
        promptTokens,
        maxTokens,
        addedTools,
      });
      return { artifacts, ...sampled };
    } catch (thrown) {
      const unfinished = assembler.discardOpen();
      if (unfinished.length > 0) this.#input.sink.send(unfinished);
      const usage = usageOf(promptTokens, 0, 0, undefined);
      const { signal } = this.#input;
      const stopped = stopReason(signal);
      if (signal.aborted && stopped === undefined)
        return { ending: { status: 'incomplete', reason: 'interrupted' }, usage };
      const failure = stopped ?? ApiError.from(thrown);
      return { ending: failedBy(failure), failure, usage };
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
    rendered,
    promptTokens,
    maxTokens,
    addedTools,
  }: Sampling): Promise<SamplingResult> {
    const { request } = this.#input;
    const { engine, engineModel, format, contextTokens } = route;
    const answerSchema = engine.bindsJson === true ? schemaOf(request.text.format) : undefined;
    this.#lifecycle.move('dispatched');
    return sample({
      engine,
      request: {
        model: engineModel,
        maxTokens,
        stopIds: format.stopIds,
        vocabularySize: format.tokenizer.vocabularySize,
        temperature: request.temperature,
        topP: request.topP,
      },
      promptWith: (ending) => promptOf(rendered, format, ending),
      promptTokens,
      contextTokens,
      format,
      tools: [...request.tools, ...addedTools],
      rules: new OutputRules({
        tools: toolRule(request, addedTools),
        bindsAnswer: answerSchema !== undefined,
        reasons: request.reasoning.effort !== 'none' && request.reasoning.effort !== 'minimal',
      }),
      answerSchema,
      check: answerCheck(request.text.format),
      assembler,
      sink: keepAlive,
      signal: AbortSignal.any([turn.signal, this.#interrupt.signal]),
      interrupted: () => this.#interrupt.signal.aborted,
      onFirstChunk: () => this.#lifecycle.move('streaming'),
    });
  }

  /** Commits the response, then writes its terminal event: its id can be used the moment a client reads it. */
  async #end(
    turn: TurnContext,
    beginning: Beginning,
    assembler: ResponseAssembler,
    { usage, artifacts, ...result }: Result,
  ): Promise<TurnOutcome> {
    const { sink, request } = this.#input;
    let { ending, failure } = result;
    let node: ResponseNode | undefined;
    assembler.end(ending, usage, Math.floor(Date.now() / 1000));
    if (ending.status !== 'failed' && artifacts !== undefined && this.#isKept()) {
      try {
        node = await commit({ turn, beginning, assembler, artifacts, input: this.#input, ...this.#parts });
      } catch (thrown) {
        failure = ApiError.from(thrown);
        ending = failedBy(failure);
        assembler.end(ending, usage, Math.floor(Date.now() / 1000));
      }
    }
    if (ending.status === 'failed' && request.previousResponseId !== undefined) {
      this.#evict(request.previousResponseId);
    }
    this.#lifecycle.move(this.#input.signal.aborted ? 'cancelled' : ending.status);
    sink.send([assembler.terminal()]);
    if (node !== undefined)
      this.#parts.replays.add(node, beginning.base, [...beginning.items, ...node.output]);
    this.#lifecycle.move('settled');
    const transport = this.#input.connection === undefined ? 'http' : 'websocket';
    logTurn({ turn, response: assembler.response, transport, lifecycle: this.#lifecycle, failure });
    return { response: assembler.response, failure };
  }

  /** Whether anything can ever go on behind this response. */
  #isKept(): boolean {
    const { request, connection } = this.#input;
    return connection !== undefined || request.store || this.#parts.replays.enabled;
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

/** JSON Schema of what a format asks for. */
function schemaOf(format: TextFormat): Record<string, unknown> | undefined {
  if (format.type === 'json_schema') return format.schema;
  return format.type === 'json_object' ? { type: 'object' } : undefined;
}
