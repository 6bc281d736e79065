import { ResponseAssembler, type Ending } from '@turnpike/assembly';
import { historyOf, type ResponseNode } from '@turnpike/conversation';
import { ApiError, droppedTypes, mintId, newResponse, type ResponseRequest } from '@turnpike/protocol';
import { prefixReuse, Rendering, type PrefixReuse } from '@turnpike/rendering';
import type { Meter, TurnMeter } from '@turnpike/metering';
import { Routing, type Route, type RouterStrategy } from '@turnpike/routing';
import { TurnContext, TurnLifecycle, type Artifacts, type Pipeline } from '@turnpike/turns';
import { packSampledIds } from '@turnpike/sealing';
import { Validation } from '@turnpike/validation';
import { meteredWords } from '../billing/metered-words.js';
import type { Answered } from './answered.js';
import { Answering } from './answering.js';
import { artifactOf } from './artifact-of.js';
import { beginningOf, type Beginning, type BeginningParts } from './beginning.js';
import { commit, keep } from './commit.js';
import { failedBy, isRefusedContent } from './ending.js';
import { settle } from '../billing/turn-money.js';
import { KeepAlive } from './keep-alive.js';
import { ResponseControl } from './response-control.js';
import type { SafetyGate } from './safety-gate.js';
import { logTurn, type FinishedTurn } from './turn-log.js';
import { countTurn } from './turn-metrics.js';
import type { TurnInput, TurnOutcome } from './turn-input.js';

export interface TurnParts extends BeginningParts {
  readonly pipeline: Pipeline;
  readonly safety: SafetyGate;
  readonly meter: Meter;
  readonly router: RouterStrategy;
  /** Silence after which a sign of life is sent, in ms. */
  readonly keepAliveMs: number;
  /** Most bytes that lifecycle events spend on tools and instructions. */
  readonly echoBytes: number;
}

interface Ended extends Answered {
  readonly control: ResponseControl;
}

/** One turn, from its request to its terminal event. */
export class TurnRun {
  readonly #input: TurnInput;
  readonly #parts: TurnParts;
  readonly #lifecycle = new TurnLifecycle();
  readonly #id: string;
  /** By which its output comes. */
  #route: Route | undefined;

  constructor(input: TurnInput, parts: TurnParts) {
    this.#input = input;
    this.#parts = parts;
    this.#id = input.background?.id ?? mintId('response');
  }

  /** @throws ApiError when there is no response */
  async run(): Promise<TurnOutcome> {
    const { request, signal } = this.#input;
    if (this.#parts.meter.isFull) throw new ApiError('metering_unavailable');
    const beginning = await beginningOf(this.#input, this.#parts);
    const turn = this.#turn(beginning);
    const onGone = () => turn.abort(signal.reason);
    signal.addEventListener('abort', onGone, { once: true });
    if (signal.aborted) onGone();
    try {
      const admitted = await this.#parts.pipeline.run(turn, beginning.base?.artifacts, 'admission');
      this.#lifecycle.move('admitted');
      return await this.#admitted(turn, beginning, admitted);
    } catch (thrown) {
      if (!isRefusedContent(thrown)) this.#evict(request.previousResponseId);
      throw thrown;
    } finally {
      signal.removeEventListener('abort', onGone);
    }
  }

  async #admitted(turn: TurnContext, beginning: Beginning, admitted: Artifacts): Promise<TurnOutcome> {
    const { request, tenant, key } = this.#input;
    const money = this.#parts.meter.begin({
      id: this.#id,
      tenant,
      key,
      model: request.model,
      transport: transportOf(this.#input),
      ...meteredWords(request, tenant, this.#parts.sealer),
      stored: request.store,
    });
    try {
      const assembler = this.#begin(admitted);
      const ended = await this.#answer(turn, beginning, assembler, money);
      return await this.#end(turn, beginning, assembler, ended, money);
    } finally {
      // Whatever went wrong beyond what is an answer: what was used is written down.
      money.settle({ outcome: 'failed', reason: 'server_error', usage: {}, stages: {} });
    }
  }

  #turn({ base, items, known }: Beginning): TurnContext {
    const { request, tenant } = this.#input;
    // Steered input stands in front of what the client counts.
    const offset = known - (this.#input.prepended ?? 0);
    const history = () => historyOf(base);
    return new TurnContext({ id: this.#id, tenant, request, items, known: offset, history });
  }

  #begin(admitted: Artifacts): ResponseAssembler {
    const { request, tenant, sink, background } = this.#input;
    const dropped = droppedTypes(request.tools, artifactOf(admitted, Validation).addedTools);
    const response = {
      ...newResponse(this.#id, request, background?.createdAt ?? Math.floor(Date.now() / 1000)),
      ...(dropped.length === 0 ? {} : { turnpike: { dropped_tools: dropped } }),
    };
    const route = artifactOf(admitted, Routing);
    this.#route = route;
    const assembler = new ResponseAssembler(response, {
      toolsKey: request.toolsKey,
      echoBytes: this.#parts.echoBytes,
      streamId: request.streamId,
      sequence: background?.sequence,
      seal: (ids) =>
        this.#parts.sealer.seal(tenant, packSampledIds({ format: (this.#route ?? route).format.name, ids })),
    });
    sink.send(assembler.begin());
    return assembler;
  }

  async #answer(
    turn: TurnContext,
    { base }: Beginning,
    assembler: ResponseAssembler,
    money: TurnMeter,
  ): Promise<Ended> {
    const { request, sink, signal, connection } = this.#input;
    const keepAlive = new KeepAlive(sink, () => assembler.keepAlive(), this.#parts.keepAliveMs);
    const control = new ResponseControl({ assembler, sink, steerable: isSteerable(request) });
    connection?.onBegin(this.#id, control);
    const answering = new Answering(turn, {
      ...this.#parts,
      assembler,
      control,
      lifecycle: this.#lifecycle,
      money,
      sink: keepAlive,
      gone: signal,
      onRoute: (route) => (this.#route = route),
    });
    try {
      return { ...(await answering.run(base?.artifacts)), control };
    } finally {
      keepAlive.stop();
      control.close();
    }
  }

  /** Commits the response, then writes its terminal event: its id can be used the moment a client reads it. */
  async #end(
    turn: TurnContext,
    beginning: Beginning,
    assembler: ResponseAssembler,
    { usage, chain, control, safety, ...result }: Ended,
    money: TurnMeter,
  ): Promise<TurnOutcome> {
    const { sink, request, background, signal } = this.#input;
    const store = background ?? this.#parts.store;
    let { ending, failure } = result;
    if (background !== undefined && signal.aborted && isCutOff(ending)) ending = background.cutOff();
    let node: ResponseNode | undefined;
    if (safety !== undefined) assembler.extend({ safety });
    assembler.end(ending, usage, Math.floor(Date.now() / 1000));
    if (!isOver(ending) && chain !== undefined && this.#isKept()) {
      try {
        node = await commit({ chain, beginning, assembler, input: this.#input, ...this.#parts, store });
      } catch (thrown) {
        failure = ApiError.from(thrown);
        ending = failedBy(failure);
        assembler.end(ending, usage, Math.floor(Date.now() / 1000));
      }
    }
    if (isOver(ending) && request.store) await keep({ assembler, beginning, input: this.#input, store });
    if (ending.status === 'failed' && !isRefusedContent(failure)) this.#evict(request.previousResponseId);
    // Before the client reads how it ended: what it was told is what is billed, whatever happens next.
    const isBilled = settle(money, turn, { ending, usage, gone: signal.aborted });
    this.#lifecycle.move(this.#input.signal.aborted ? 'cancelled' : ending.status);
    sink.send([assembler.terminal()]);
    if (node !== undefined)
      this.#parts.replays.add(node, beginning.base, [...beginning.items, ...node.output]);
    this.#lifecycle.move(isBilled ? 'settled' : 'abandoned');
    const { response } = assembler;
    const prefix = prefixBehind(beginning.base?.artifacts, chain?.artifacts);
    const finished = {
      turn,
      response,
      transport: transportOf(this.#input),
      lifecycle: this.#lifecycle,
      prefix,
    };
    countTurn(finished);
    logTurn({ ...finished, engine: this.#route?.engine.name, failure });
    return {
      response,
      failure,
      steers: control.steers,
      waiting: [...control.waiting().keys()],
    };
  }

  /** Whether anything can ever go on behind this response. */
  #isKept(): boolean {
    const { request, connection } = this.#input;
    return connection !== undefined || request.store || this.#parts.replays.enabled;
  }

  /** A continuation that failed takes its parent out of the connection's cache; one whose client left does not. */
  #evict(parentId: string | undefined): void {
    const { connection, signal } = this.#input;
    if (!signal.aborted && parentId !== undefined) connection?.cache.failed(parentId, connection.lane);
  }
}

/** Steered input becomes a response of its own behind this one, which is only sure to be whole without compaction. */
function isSteerable(request: ResponseRequest): boolean {
  const { generate, compacts, compactThreshold, appends, conversation } = request;
  return generate && !compacts && compactThreshold === undefined && !appends && conversation === undefined;
}

/** Whether a response ends in a way that nothing can follow. */
function isOver({ status }: Ending): boolean {
  return status === 'failed' || status === 'cancelled';
}

/** Whether a response ends because its signal did. */
function isCutOff(ending: Ending): boolean {
  return ending.status === 'incomplete' && ending.reason === 'interrupted';
}

function transportOf({ connection, background }: TurnInput): FinishedTurn['transport'] {
  if (background !== undefined) return 'background';
  return connection === undefined ? 'http' : 'websocket';
}

/** How much of the conversation before a turn its prompt began with. */
function prefixBehind(before: Artifacts | undefined, now: Artifacts | undefined): PrefixReuse | undefined {
  if (before === undefined || now === undefined) return undefined;
  return prefixReuse(artifactOf(before, Rendering), artifactOf(now, Rendering));
}
