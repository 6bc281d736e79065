import type { ResponseNode } from '@turnpike/conversation';
import type { ResponseObject } from '@turnpike/protocol';

/** A response that is made without a client that waits. */
export interface BackgroundJob {
  /** Id of its response. */
  readonly id: string;
  readonly tenant: string;
  /** Id of the key that it is accounted to. */
  readonly key: string;
  /** Body of the request as JSON text. What it took from other items stands in it. */
  readonly request: string;
  /** As it was accepted: `queued`, without output. */
  readonly response: ResponseObject;
}

export interface NewJob extends BackgroundJob {
  /** JSON texts of its first events; undefined for a response that was not asked to stream. */
  readonly events: readonly string[] | undefined;
}

/** A job that has not ended. */
export interface UnfinishedJob {
  readonly status: 'queued' | 'in_progress';
  /** As it was accepted. */
  readonly response: ResponseObject;
}

/** A job whose turn has come, for the one that runs it. */
export interface ClaimedJob extends BackgroundJob {
  readonly events: number | undefined;
}

/** A job whose runner has not been heard of for too long. */
export interface ExpiredJob extends BackgroundJob {
  /** Somebody has asked for its end meanwhile. */
  readonly cancelRequested: boolean;
}

/** What changes of a job while others look on. */
export interface JobState {
  /** `ended`: its response is in the store. */
  readonly status: 'queued' | 'in_progress' | 'ended';
  /**
   * Events that are kept of it, the terminal one not among them: it is made from the response, and its number is this.
   * Undefined when the response cannot be streamed.
   */
  readonly events: number | undefined;
}

/** Events that follow each other, as JSON texts. */
export interface EventBatch {
  /** Sequence number of the first. */
  readonly first: number;
  readonly events: readonly string[];
}

/** In whose place a job is ended: its runner's, nobody's while it waits, or that of a runner that is gone. */
export type Holder =
  { readonly kind: 'runner'; readonly name: string } | { readonly kind: 'nobody' | 'gone' };

/**
 * The queue of background responses, in the order in which they were accepted. It belongs to the store: a job is ended and
 * its response saved in one step, so that each response ends once whoever believes to run it.
 *
 * A runner holds its jobs by a lease that it has to renew. Jobs are looked up by tenant; only runners, who serve all of
 * them, see every job.
 */
export interface BackgroundJobs {
  /** @returns false when about `mostQueued` jobs of the tenant wait already, or there is no more room */
  enqueue(job: NewJob, mostQueued: number): Promise<boolean>;
  find(tenant: string, id: string): Promise<JobState | undefined>;
  /** The job, unless it has ended. */
  load(tenant: string, id: string): Promise<UnfinishedJob | undefined>;
  /** The request of a job, unless it has ended; it can be large. */
  request(tenant: string, id: string): Promise<string | undefined>;
  /** Takes the jobs that have waited longest; they are `in_progress` from here on. */
  claim(runner: string, most: number): Promise<ClaimedJob[]>;
  /** The jobs that the runner still holds, by id, each with whether it is asked to end it. */
  held(runner: string): Promise<Map<string, { readonly cancelRequested: boolean }>>;
  /** Holds these for another lease, where the runner still does. What it does not name runs out. */
  renew(runner: string, ids: readonly string[]): Promise<void>;
  /** Asks the runner of a job to end it. */
  requestCancel(tenant: string, id: string): Promise<void>;
  /** Adds events of a job. @returns false when the runner does not hold it any more: nothing was added */
  append(id: string, runner: string, batch: EventBatch): Promise<boolean>;
  /** Gives up the events of a job: it cannot be streamed from here on. */
  dropEvents(id: string, runner: string): Promise<void>;
  /** Some of the events of the tenant's job from this number on, in order; the first batch may begin before it. */
  readEvents(tenant: string, id: string, from: number): Promise<EventBatch[]>;
  /** Jobs whose lease has run out. */
  expired(): Promise<ExpiredJob[]>;
  /**
   * Ends the job of this response and saves the response.
   * @returns false when the job is not the holder's any more: nothing was changed
   */
  end(node: ResponseNode, holder: Holder): Promise<boolean>;
  /** Forgets a job and its events. A runner finds that it does not hold it any more. @returns whether there was one */
  delete(tenant: string, id: string): Promise<boolean>;
  /** Forgets jobs whose responses have expired. @returns how many */
  sweep(): Promise<number>;
}
