import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { UsageSink } from '../relay.js';
import type { UsageRecord } from '../usage-record.js';
import { USAGE_QUEUE, usageJobId, type UsageJob } from './job.js';
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
}

/** The queue in front of the ledger, for who adds to it. */
export class UsageQueue implements UsageSink {
  readonly #queue: Queue<UsageJob>;
  readonly #redis: Redis;
  /** Whether this connection has been looked at. */
  #isChecked = false;

  constructor({ url, onError }: UsageQueueOptions) {
    this.#redis = connect(url, PRODUCER, onError);
    this.#redis.on('close', () => (this.#isChecked = false));
    this.#queue = new Queue<UsageJob>(USAGE_QUEUE, { connection: this.#redis, skipWaitingForReady: true });
    this.#queue.on('error', onError);
  }

  /**
   * Adds one job for all of them. Resolves when Redis has it.
   * @throws Error when it does not; EvictionError when it could throw it away
   */
  async deliver(records: readonly UsageRecord[], journal: string): Promise<void> {
    // Another Redis may stand behind the same address after a failover.
    if (!this.#isChecked) await requireNoEviction(this.#redis);
    this.#isChecked = true;
    const job = { journal, records };
    await this.#queue.add(USAGE_QUEUE, job, {
      jobId: usageJobId(job),
      attempts: ATTEMPTS,
      backoff: { type: 'custom' },
      removeOnComplete: DONE,
      removeOnFail: FAILED,
    });
  }

  /** Jobs that are not done, by state. */
  counts(): Promise<Record<string, number>> {
    return this.#queue.getJobCounts('waiting', 'active', 'delayed', 'failed');
  }

  /** Response ids in jobs that are not done, of so many jobs at most. */
  async pending(most: number): Promise<readonly string[]> {
    const jobs = await this.#queue.getJobs(['waiting', 'active', 'delayed', 'failed'], 0, most - 1);
    return jobs.flatMap(({ data }) => data.records.map(({ id }) => id));
  }

  async close(): Promise<void> {
    await this.#queue.close().catch(() => undefined);
    this.#redis.disconnect();
  }
}
