import type { KeyRing, Principal } from '@turnpike/access';
import type { BackgroundJobs, ClaimedJob } from '@turnpike/background';
import type { ResponseNode } from '@turnpike/conversation';
import { ApiError, parseJson } from '@turnpike/protocol';
import { setTimeout as sleep } from 'node:timers/promises';
import { isFault } from '../http/error-response.js';
import { log } from '../log.js';
import { failedBy, type FinalEnding } from '../turn/ending.js';
import { DISCARD } from '../turn/event-sink.js';
import type { TurnService } from '../turn/turn.service.js';
import type { Changes } from './changes.js';
import { endedBeforeAnything } from './ended.js';
import { EventLog } from './event-log.js';

export interface BackgroundRunParts {
  readonly jobs: BackgroundJobs;
  readonly turns: Pick<TurnService, 'read' | 'run'>;
  readonly keys: Pick<KeyRing, 'holderOf'>;
  readonly changes: Changes;
  /** Name of the runner that holds the job. */
  readonly runner: string;
  /** Most characters of events that are kept of a response. */
  readonly eventBytes: number;
}

/**
 * Why a run is cut off. `lost`: the job is somebody else's affair now, or deleted. `restart`: the server stops, and the
 * response has had its time.
 */
export type CutOff = 'cancelled' | 'restart' | 'lost';

/** Time from one attempt to end a job to the next, in ms. */
const AGAIN_MS = 1_000;

/** One background response while it is made: an ordinary turn, whose events are kept and whose end is that of its job. */
export class BackgroundRun {
  readonly #job: ClaimedJob;
  readonly #parts: BackgroundRunParts;
  readonly #events: EventLog | undefined;
  readonly #cut = new AbortController();
  readonly #abandoned = new AbortController();
  #why: CutOff = 'lost';
  #hasFailed = false;
  /** Resolves when the job has ended, or is not this run's any more. */
  readonly done: Promise<void>;

  constructor(job: ClaimedJob, parts: BackgroundRunParts) {
    this.#job = job;
    this.#parts = parts;
    this.#events = job.events === undefined ? undefined : this.#eventLog(job.events);
    this.done = this.#run().catch((thrown: unknown) => this.#failed(thrown));
  }

  /** Stops the engine, and ends the job accordingly; only the first call counts. */
  cut(why: CutOff): void {
    if (this.#cut.signal.aborted) return;
    this.#why = why;
    if (why === 'lost') this.#events?.close();
    this.#cut.abort();
  }

  /** Leaves the job as it is, if it cannot be ended now: its lease runs out. */
  abandon(): void {
    this.cut('restart');
    this.#events?.close();
    this.#abandoned.abort();
  }

  async #run(): Promise<void> {
    const { id, tenant, key, request, response, events = 0 } = this.#job;
    const { turns, changes } = this.#parts;
    try {
      await turns.run({
        request: await turns.read(parseJson(request), 'http', this.#holder()),
        tenant,
        key,
        sink: this.#events ?? DISCARD,
        signal: this.#cut.signal,
        background: {
          id,
          createdAt: response.created_at,
          sequence: events,
          save: (node) => this.#end(node),
          cutOff: () => this.#ending(),
        },
      });
    } catch (thrown) {
      // There is a response, but the turn failed of what comes before one: of a parent that was deleted meanwhile.
      const error = ApiError.from(thrown);
      const isCut = this.#cut.signal.aborted;
      if (!isCut && isFault(error)) log.error({ err: error.cause ?? error, response: id }, 'turn failed');
      await this.#end(endedBeforeAnything(this.#job, isCut ? this.#ending() : failedBy(error)));
    } finally {
      this.#events?.close();
      changes.changed(id);
    }
  }

  /** A job may have waited longer than its key was good for. */
  #holder(): Principal {
    const { tenant, key } = this.#job;
    try {
      return this.#parts.keys.holderOf(tenant, key);
    } catch (thrown) {
      if (!(thrown instanceof ApiError) || thrown.code !== 'invalid_api_key') throw thrown;
      const message = 'The API key that this response was asked for with is not valid any more.';
      throw new ApiError('invalid_api_key', { message });
    }
  }

  /** Ends the job and saves its response. A database that fails is asked again: nobody else can end it meanwhile. */
  async #end(node: ResponseNode): Promise<void> {
    const { jobs, runner } = this.#parts;
    await this.#events?.flush();
    while (!this.#isLost() && !this.#abandoned.signal.aborted) {
      try {
        const ended = await jobs.end(node, { kind: 'runner', name: runner });
        if (!ended) log.warn({ response: node.id }, 'background response was taken over');
        return;
      } catch (thrown) {
        this.#failed(thrown);
        await sleep(AGAIN_MS, undefined, { signal: this.#abandoned.signal }).catch(() => undefined);
      }
    }
  }

  #isLost(): boolean {
    return this.#cut.signal.aborted && this.#why === 'lost';
  }

  #ending(): FinalEnding {
    return this.#why === 'cancelled' ? { status: 'cancelled' } : failedBy(new ApiError('server_restarted'));
  }

  #eventLog(sequence: number): EventLog {
    const { jobs, runner, changes, eventBytes } = this.#parts;
    const { id } = this.#job;
    return new EventLog({
      sequence,
      most: eventBytes,
      write: async (batch) => {
        const isHeld = await jobs.append(id, runner, batch);
        changes.changed(id);
        return isHeld;
      },
      drop: () => jobs.dropEvents(id, runner),
      onFailure: (thrown) => this.#failed(thrown),
    });
  }

  /** It goes on to be tried; once is enough to hear of it. */
  #failed(thrown: unknown): void {
    if (!this.#hasFailed) {
      log.error({ err: thrown, response: this.#job.id }, 'background response cannot be kept');
    }
    this.#hasFailed = true;
  }
}
