import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '@turnpike/access';
import { ReplayIndex, type ConversationStore, type ResponseStore } from '@turnpike/conversation';
import type { Meter } from '@turnpike/metering';
import { ApiError, parseRequestInSlices, type ResponseRequest } from '@turnpike/protocol';
import type { RouterStrategy } from '@turnpike/routing';
import { Sealer } from '@turnpike/sealing';
import { Pipeline } from '@turnpike/turns';
import type { Config } from '../config/schema.js';
import type { StageList } from '../stages.js';
import { CONFIG, CONVERSATIONS, METER, ROUTER, STAGE_LIST, STORE } from '../tokens.js';
import { admit } from './admit.js';
import { mayUse, unknownModel } from './allowed-model.js';
import { compactWindow, type CompactedWindow } from './compact-window.js';
import { expandReferences } from './item-references.js';
import { SafetyGate } from './safety-gate.js';
import { countInputTokens } from './token-count.js';
import type { TurnInput, TurnOutcome } from './turn-input.js';
import { TurnRun, type TurnParts } from './turn-run.js';

/** Runs turns, the same way for every transport. */
@Injectable()
export class TurnService {
  readonly #parts: TurnParts;

  constructor(
    @Inject(STAGE_LIST) stages: StageList,
    @Inject(STORE) store: ResponseStore,
    @Inject(CONVERSATIONS) conversations: ConversationStore,
    @Inject(Sealer) sealer: Sealer,
    @Inject(SafetyGate) safety: SafetyGate,
    @Inject(METER) meter: Meter,
    @Inject(CONFIG) config: Config,
    @Inject(ROUTER) router: RouterStrategy,
  ) {
    this.#parts = {
      pipeline: new Pipeline(stages.admission, stages.preparation),
      meter,
      router,
      store,
      conversations,
      sealer,
      safety,
      replays: new ReplayIndex(config.limits.replayBytes),
      keepAliveMs: config.limits.keepAliveMs,
      echoBytes: config.limits.echoBytes,
    };
  }

  /**
   * A request from its JSON: what it refers to is put in, then it is parsed.
   * @throws ApiError naming the field at fault, `input` where there is nothing to answer; model_not_found for a model
   * that the key may not use
   */
  async read(
    body: unknown,
    transport: 'http' | 'websocket',
    principal: Pick<Principal, 'tenant' | 'models'>,
  ): Promise<ResponseRequest> {
    const { store, conversations } = this.#parts;
    const expanded = await expandReferences(body, principal.tenant, [store, conversations]);
    const request = await parseRequestInSlices(expanded, transport);
    requireSomething(request);
    if (!mayUse(principal, request.model)) throw unknownModel(request.model);
    return request;
  }

  /**
   * From a request to its terminal event. What fails before `response.created` is thrown; what fails later ends the
   * response as failed. When this resolves, the response has been committed and its terminal event written.
   * @throws ApiError when there is no response
   */
  run(input: TurnInput): Promise<TurnOutcome> {
    return new TurnRun(input, this.#parts).run();
  }

  /**
   * Makes a conversation short; nothing of it is kept.
   * @throws ApiError missing_required_parameter when there is nothing to compact; as the turn would
   */
  compact(
    request: ResponseRequest,
    principal: { readonly tenant: string; readonly key: string },
    signal: AbortSignal,
  ): Promise<CompactedWindow> {
    // What a warm-up may leave out is needed here.
    if (request.input.length === 0 && request.previousResponseId === undefined) {
      throw new ApiError('missing_required_parameter', {
        param: 'input',
        message: "There is nothing to compact: give 'input' or 'previous_response_id'.",
      });
    }
    return compactWindow(request, principal, signal, this.#parts);
  }

  /**
   * Finds what a request would fail of before there is a response, and makes none.
   * @throws ApiError as the turn would
   */
  admit(request: ResponseRequest, tenant: string): Promise<void> {
    return admit(request, tenant, this.#parts);
  }

  /**
   * Tokens that a request would make the model read; nothing is sampled and nothing kept.
   * @throws ApiError as the turn would
   */
  countInput(request: ResponseRequest, tenant: string): Promise<number> {
    return countInputTokens(request, tenant, this.#parts);
  }
}

/** Without an item a model would answer nobody. A warm-up has no answer: Codex begins with an empty one. */
function requireSomething({ generate, input, previousResponseId, conversation }: ResponseRequest): void {
  if (!generate || input.length > 0 || (previousResponseId ?? conversation) !== undefined) return;
  throw new ApiError('missing_required_parameter', {
    param: 'input',
    message: "There is nothing to answer: give 'input', 'previous_response_id' or 'conversation'.",
  });
}
