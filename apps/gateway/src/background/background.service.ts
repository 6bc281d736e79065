import { Inject, Injectable } from '@nestjs/common';
import type { Principal } from '@turnpike/access';
import { queuedEvents } from '@turnpike/assembly';
import type { BackgroundJobs } from '@turnpike/background';
import type { ResponseStore } from '@turnpike/conversation';
import {
  ApiError,
  jsonOf,
  mintId,
  newResponse,
  type Item,
  type ResponseObject,
  type ResponseRequest,
} from '@turnpike/protocol';
import type { Config } from '../config/schema.js';
import { BACKGROUND_JOBS, CONFIG, STORE } from '../tokens.js';
import type { EventSink } from '../turn/event-sink.js';
import { withItemIds } from '../turn/item-ids.js';
import { TurnService } from '../turn/turn.service.js';
import { BackgroundRunner } from './background-runner.js';
import { Changes } from './changes.js';
import { endedBeforeAnything, inputOf } from './ended.js';
import { follow } from './follow.js';

/** When a tenant whose queue is full may try again, in seconds. */
const QUEUE_FULL_S = 5;
/** How often a cancelled response that another gateway makes is looked at, in ms. */
const LOOK_MS = 100;
/** How long to wait for a cancelled response to end before its client is told that it has not, in ms. */
const CANCEL_MS = 5_000;

/** What clients can do with background responses. To every other tenant their ids are unknown. */
@Injectable()
export class BackgroundService {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(BACKGROUND_JOBS) private readonly jobs: BackgroundJobs,
    @Inject(STORE) private readonly responses: ResponseStore,
    @Inject(TurnService) private readonly turns: TurnService,
    @Inject(BackgroundRunner) private readonly runner: BackgroundRunner,
    @Inject(Changes) private readonly changes: Changes,
  ) {}

  /**
   * Takes a request into the queue. When this resolves, the response can be asked for at every gateway.
   * @param body what `request` was read from
   * @throws ApiError as the turn would, before there is a response; too_many_queued_responses
   */
  async accept(
    body: object,
    request: ResponseRequest,
    { tenant, key }: Pick<Principal, 'tenant' | 'key'>,
  ): Promise<ResponseObject> {
    await this.turns.admit(request, tenant);
    const id = mintId('response');
    const response: ResponseObject = {
      ...newResponse(id, request, Math.floor(Date.now() / 1000)),
      status: 'queued',
    };
    // What was referred to can be gone when the turn comes; and items that are listed keep their ids.
    const items = withItemIds(request.input.map((item) => ({ item }))).map(({ item }) => item);
    const input = request.compacts ? [...items, { type: 'compaction_trigger' }] : items;
    const isTaken = await this.jobs.enqueue(
      {
        id,
        tenant,
        key,
        request: jsonOf({ ...body, input }),
        response,
        events: request.stream
          ? queuedEvents(response, request.toolsKey, this.config.limits.echoBytes).map(({ json }) => json)
          : undefined,
      },
      this.config.limits.backgroundQueued,
    );
    if (!isTaken) {
      const message = 'Too many background responses are queued.';
      throw new ApiError('too_many_queued_responses', { message, retryAfter: QUEUE_FULL_S });
    }
    this.runner.poke();
    return response;
  }

  /** A response that waits or is being made: what was asked for, and no output yet. Afterwards the store has it. */
  async unfinished(tenant: string, id: string): Promise<ResponseObject | undefined> {
    const job = await this.jobs.load(tenant, id);
    return job && { ...job.response, status: job.status };
  }

  /** The items that the request of such a response brought. */
  async inputOfUnfinished(tenant: string, id: string): Promise<readonly Item[] | undefined> {
    const request = await this.jobs.request(tenant, id);
    return request === undefined ? undefined : inputOf(request);
  }

  /**
   * Ends a background response. One that has ended is returned as it is, and so is one that its gateway has not ended
   * after a while, which has been told.
   * @returns undefined for an unknown response
   * @throws ApiError not_a_background_response
   */
  async cancel(tenant: string, id: string): Promise<ResponseObject | undefined> {
    const deadline = performance.now() + CANCEL_MS;
    for (;;) {
      const job = await this.jobs.load(tenant, id);
      if (job === undefined) return this.#ended(tenant, id);
      if (performance.now() >= deadline) return { ...job.response, status: job.status };
      if (job.status === 'queued') await this.#endQueued(tenant, id, job.response);
      else await this.#endRunning(tenant, id);
    }
  }

  /** Forgets a background response, whatever has become of it. @returns whether there was one */
  async delete(tenant: string, id: string): Promise<boolean> {
    const isDeleted = await this.jobs.delete(tenant, id);
    if (isDeleted) this.runner.forget(id);
    this.changes.changed(id);
    return isDeleted;
  }

  /**
   * Whether the events of a response can be had once more.
   * @throws ApiError not_a_background_response when they cannot
   * @returns false for an unknown response
   */
  async canStream(tenant: string, id: string): Promise<boolean> {
    const job = await this.jobs.find(tenant, id);
    if (job?.events !== undefined) return true;
    if (job === undefined && (await this.responses.find(tenant, id)) === undefined) return false;
    throw new ApiError('not_a_background_response', {
      param: 'stream',
      message:
        'Only a response that was created with background and stream set to true can be streamed again.',
    });
  }

  /** Sends the events of a response behind that number to its terminal one, until the client is gone. See {@link follow}. */
  stream(
    response: { readonly tenant: string; readonly id: string; readonly after: number },
    sink: EventSink,
    gone: AbortSignal,
  ): Promise<void> {
    const { jobs, responses, changes, runner } = this;
    const { echoBytes } = this.config.limits;
    const isLeaving = (id: string) => runner.isStopping && !runner.runs(id);
    return follow(response, sink, gone, { jobs, responses, changes, isLeaving, echoBytes });
  }

  async #ended(tenant: string, id: string): Promise<ResponseObject | undefined> {
    const response = (await this.responses.find(tenant, id))?.response;
    if (response?.background === false) {
      throw new ApiError('not_a_background_response', {
        param: 'response_id',
        message: 'Only a response that was created with background set to true can be cancelled.',
      });
    }
    return response;
  }

  /** Does nothing for one whose turn came meanwhile. */
  async #endQueued(tenant: string, id: string, response: ResponseObject): Promise<void> {
    const request = await this.jobs.request(tenant, id);
    if (request === undefined) return;
    const job = { id, tenant, request, response };
    const isEnded = await this.jobs.end(endedBeforeAnything(job, { status: 'cancelled' }), {
      kind: 'nobody',
    });
    if (isEnded) this.changes.changed(id);
  }

  async #endRunning(tenant: string, id: string): Promise<void> {
    const ended = this.runner.cancel(id);
    const change = this.changes.next(id, LOOK_MS);
    if (ended === undefined) await this.jobs.requestCancel(tenant, id);
    await change.happened;
  }
}
