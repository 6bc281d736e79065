import { connect, CONSUMER, requireNoEviction, USAGE_QUEUE, type UsageJob } from '@turnpike/metering';
import { Worker, type Job } from 'bullmq';
import type { Redis } from 'ioredis';
import type { Booker } from './booker.js';

export interface UsageWorkerOptions {
  readonly url: string;
  readonly booker: Pick<Booker, 'book'>;
  /** Jobs that are booked at once. */
  readonly concurrency?: number | undefined;
  /** Called for errors of the connection and of jobs, which are all tried again. */
  readonly onError: (error: Error) => void;
  /** Called when records of a job could not be booked. */
  readonly onDeadLetters?: ((count: number, job: string) => void) | undefined;
}

/** First wait before a job is tried again, twice as long each time, and the longest, in ms. */
const BACK_OFF_MS = 200;
const MAX_BACK_OFF_MS = 5_000;
const CONCURRENCY = 4;
/** How long Redis may be silent before it is reported, in ms. */
const HEALTH_MS = 1_000;
/** Wait before the worker goes on after an error of the queue, in ms. */
const RETRY_MS = 1_000;
/**
 * How long such an error is reported, in ms: the next one comes sooner. Nothing tells when a worker without jobs is well again, and
 * its connections come back in any order.
 */
const LOST_MS = 3 * RETRY_MS;

/** Takes jobs from the queue and books them. It survives Redis and the database being away, and goes on by itself. */
export class UsageWorker {
  readonly #worker: Worker<UsageJob>;
  readonly #redis: Redis;
  readonly #options: UsageWorkerOptions;
  /** Why the last job was not booked. */
  #failure: Error | undefined;
  /** What last kept the worker from the queue, and when, in ms. */
  #lost: { readonly error: Error; readonly at: number } | undefined;

  constructor(options: UsageWorkerOptions) {
    this.#options = options;
    this.#redis = connect(options.url, CONSUMER, options.onError);
    this.#worker = new Worker<UsageJob>(USAGE_QUEUE, (job) => this.#process(job), {
      connection: this.#redis,
      concurrency: options.concurrency ?? CONCURRENCY,
      // A worker that was killed is found out about after that, and its jobs go to another one. One that was only slow
      // books what another one books as well, which changes nothing.
      lockDuration: 5_000,
      stalledInterval: 2_000,
      maxStalledCount: 1_000_000,
      runRetryDelay: RETRY_MS,
      settings: { backoffStrategy: (attempt = 1) => backOff(attempt) },
    });
    this.#worker.on('error', (error) => {
      this.#lost = { error, at: performance.now() };
      options.onError(error);
    });
    this.#worker.on('failed', (_job, error) => {
      this.#failure = error;
      options.onError(error);
    });
    this.#worker.on('completed', () => (this.#failure = this.#lost = undefined));
  }

  /**
   * Whether it can work: undefined, or why not.
   */
  async health(): Promise<string | undefined> {
    if (this.#redis.status !== 'ready') return `redis is ${this.#redis.status}`;
    try {
      // A command waits for a connection that was just lost, however long that takes.
      await Promise.race([requireNoEviction(this.#redis), silence(HEALTH_MS)]);
    } catch (thrown) {
      return (thrown as Error).message;
    }
    if (!this.#worker.isRunning()) return 'the worker has stopped';
    const lost = this.#lost;
    if (lost !== undefined && performance.now() - lost.at < LOST_MS) return lost.error.message;
    return this.#failure?.message;
  }

  /** Finishes what it is at. */
  async close(): Promise<void> {
    await this.#worker.close();
    this.#redis.disconnect();
  }

  async #process(job: Job<UsageJob>): Promise<void> {
    const { booker, onDeadLetters } = this.#options;
    const id = job.id ?? USAGE_QUEUE;
    const { records } = Object(job.data) as Partial<UsageJob>;
    // A job that holds no records is one that somebody else has made: it is kept as it is.
    const dead = await booker.book(Array.isArray(records) ? records : [job.data], id);
    if (dead > 0) onDeadLetters?.(dead, id);
  }
}

function silence(ms: number): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error('redis does not answer')), ms).unref();
  });
}

function backOff(attempt: number): number {
  return Math.min(MAX_BACK_OFF_MS, BACK_OFF_MS * 2 ** Math.min(attempt - 1, 16));
}
