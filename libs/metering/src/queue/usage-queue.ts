import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { UsageRecord } from '../usage-record.js';
import type { UsageSink } from '../usage-sink.js';
import { responsesIn, USAGE_QUEUE, usageJobId, type UsageJob } from './job.js';
import { connect, PRODUCER, requireNoEviction } from './redis.js';

/** A job is tried until it is booked: what cannot be booked at all is taken out of it first. */
const ATTEMPTS = 1_000_000;
/** Jobs that are done are kept for whoever looks, by count and age. */
const DONE = { count: 1_000, age: 24 * 60 * 60 };
const FAILED = { count: 10_000, age: 30 * 24 * 60 * 60 };

export interface UsageQueueOptions {
  readonly url: string;
  /** Called for errors of the connection; it goes on trying. */
  readonly onError: (error: Error) => void;
  /** Which of these response ids are neither booked nor kept as what cannot be; needed by who follows what it adds. */
  readonly missing?: ((responseIds: readonly string[]) => Promise<readonly string[]>) | undefined;
}

/** States of jobs that no worker will do. */
const OVER: ReadonlySet<string> = new Set(['unknown', 'failed']);

/** The queue in front of the ledger, for who adds to it. */
export class UsageQueue implements UsageSink {
  readonly #redis: Redis;
  readonly #onError: (error: Error) => void;
  /** Resolves once the first attempt to connect has come to an end: whoever asks at once is not told that Redis is away. */
  readonly #attempted: Promise<unknown>;
  readonly #missing: UsageQueueOptions['missing'];
  #queue: Queue<UsageJob> | undefined;
  #lastError: Error | undefined;
  /** Whether this connection has been looked at. */
  #isChecked = false;

  constructor({ url, onError, missing }: UsageQueueOptions) {
    this.#onError = onError;
    this.#missing = missing;
    this.#redis = connect(url, PRODUCER, (error) => {
      this.#lastError = error;
      onError(error);
    });
    this.#redis.on('close', () => (this.#isChecked = false));
    this.#attempted = new Promise((resolve) => {
      this.#redis.once('ready', resolve).once('close', resolve);
    });
  }

  /**
   * Adds one job for all of them. Resolves when Redis has it.
   * @throws Error when it does not; EvictionError when it could throw it away
   */
  async deliver(records: readonly UsageRecord[], journal: string, again = false): Promise<void> {
    await this.#attempted;
    if (this.#redis.status !== 'ready') {
      throw new Error(`Redis cannot be reached: ${this.#lastError?.message ?? 'the connection was closed'}`);
    }
    // Another Redis may stand behind the same address after a failover.
    if (!this.#isChecked) await requireNoEviction(this.#redis);
    this.#isChecked = true;
    const job = { journal, records };
    const queue = await this.#ready();
    // As long as there is a job with that id, adding it changes nothing.
    if (again) await queue.remove(usageJobId(job));
    await queue.add(USAGE_QUEUE, job, {
      jobId: usageJobId(job),
      attempts: ATTEMPTS,
      backoff: { type: 'custom' },
      // Each failure would add its stack, until what a long outage has added fills Redis.
      stackTraceLimit: 1,
      removeOnComplete: DONE,
      removeOnFail: FAILED,
    });
  }

  /**
   * A job is lost with a Redis that had not brought it to its disk or its replica, or by whoever empties the queue. One that is
   * done may be gone as well: the ledger has it.
   */
  async whereIs(records: readonly UsageRecord[], journal: string): Promise<'waiting' | 'arrived' | 'lost'> {
    const state = await (await this.#ready()).getJobState(usageJobId({ journal, records }));
    if (state === 'completed') return 'arrived';
    if (!OVER.has(state)) return 'waiting';
    const missing = await this.#missing?.(records.map(({ id }) => id));
    return missing === undefined || missing.length === 0 ? 'arrived' : 'lost';
  }

  /** Jobs that are not done, by state. */
  async counts(): Promise<Record<string, number>> {
    return (await this.#ready()).getJobCounts('waiting', 'active', 'delayed', 'failed');
  }

  /** Response ids in jobs that are not done, of so many jobs at most. */
  async pending(most: number): Promise<readonly string[]> {
    const queue = await this.#ready();
    const jobs = await queue.getJobs(['waiting', 'active', 'delayed', 'failed'], 0, most - 1);
    return jobs.flatMap(({ data }) => responsesIn(data));
  }

  async close(): Promise<void> {
    await this.#queue?.close().catch(() => undefined);
    this.#redis.disconnect();
  }

  /** BullMQ never gets over a connection that was not there when its queue was made, so it is made when it is. */
  async #ready(): Promise<Queue<UsageJob>> {
    if (this.#queue !== undefined) return this.#queue;
    await this.#attempted;
    await this.#redis.ping();
    const queue = new Queue<UsageJob>(USAGE_QUEUE, { connection: this.#redis, skipWaitingForReady: true });
    queue.on('error', this.#onError);
    try {
      await queue.waitUntilReady();
    } catch (thrown) {
      await queue.close().catch(() => undefined);
      throw thrown;
    }
    this.#queue ??= queue;
    return this.#queue;
  }
}
