import { createBullBoard } from '@bull-board/api';
import type { IServerAdapter } from '@bull-board/api/typings/app';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { ExpressAdapter } from '@bull-board/express';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Booker, UsageWorker } from '@turnpike/ledger';
import { connect, CONSUMER, responsesIn, USAGE_QUEUE } from '@turnpike/metering';
import { ApiError } from '@turnpike/protocol';
import { log } from '@turnpike/telemetry';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import type { RequestHandler } from 'express';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Settings } from '../settings.js';
import { SETTINGS } from '../tokens.js';

export const BOARD_PATH = '/admin/queues';

/** How long Redis may be silent before that is its state, in ms. */
const SILENCE_MS = 1_000;
/** Jobs that are looked through. */
const MOST_JOBS = 100_000;

/** The worker between the queue and the ledger, and the board that shows the queue. Without Redis there is neither. */
@Injectable()
export class QueueService implements OnApplicationShutdown {
  readonly #worker: UsageWorker | undefined;
  readonly #queue: Queue | undefined;
  readonly #redis: Redis | undefined;

  constructor(@Inject(SETTINGS) { redisUrl: url }: Settings, @Inject(Booker) booker: Booker) {
    if (url === undefined) return;
    const onError = reporter();
    this.#worker = new UsageWorker({
      url,
      booker,
      onError,
      onDeadLetters: (count, job) =>
        log.error({ count, job }, 'usage could not be booked: there are dead letters'),
    });
    this.#redis = connect(url, CONSUMER, onError);
    this.#queue = new Queue(USAGE_QUEUE, { connection: this.#redis });
    this.#queue.on('error', onError);
  }

  /** `none` without Redis, `ok`, or what is the matter. */
  async state(): Promise<string> {
    if (this.#worker === undefined || this.#queue === undefined) return 'none';
    const fault = await this.#worker.health();
    if (fault !== undefined) return fault;
    // Somebody did that on the board, and nothing is booked until somebody resumes it.
    const paused = this.#queue.isPaused().then((isPaused) => (isPaused ? 'the queue is paused' : 'ok'));
    // It may have gone a moment ago, and what it is asked then waits until it is back.
    return Promise.race([paused, silence()]).catch((thrown: unknown) => (thrown as Error).message);
  }

  /** Jobs that are not done, by state; none without a queue, or while Redis is away. */
  async counts(): Promise<Record<string, number>> {
    if (this.#queue === undefined || this.#redis?.status !== 'ready') return {};
    return this.#queue.getJobCounts('waiting', 'active', 'delayed', 'failed');
  }

  /**
   * Response ids in jobs that are not done; none without a queue.
   * @throws ApiError while Redis is away
   */
  async pending(): Promise<ReadonlySet<string>> {
    if (this.#queue === undefined) return new Set();
    if (this.#redis?.status !== 'ready') throw away();
    const jobs = await this.#queue.getJobs(['waiting', 'active', 'delayed', 'failed'], 0, MOST_JOBS - 1);
    return new Set(jobs.flatMap(({ data }) => responsesIn(data)));
  }

  /** The board as Express serves it; undefined without a queue. */
  board(): RequestHandler | undefined {
    if (this.#queue === undefined) return undefined;
    const adapter = new ExpressAdapter();
    adapter.setBasePath(BOARD_PATH);
    // The adapter is declared with a copy of the board's types that npm keeps apart for it.
    const serverAdapter = adapter as unknown as IServerAdapter;
    createBullBoard({ queues: [new BullMQAdapter(this.#queue)], serverAdapter });
    const serve = adapter.getRouter() as RequestHandler;
    return (request, response, next) => {
      // What is asked of the queue while Redis is away would wait until it is back.
      if (this.#redis?.status === 'ready') return void serve(request, response, next);
      next(away());
    };
  }

  /** Jobs that are under way are finished; what is not begun stays in the queue. */
  async onApplicationShutdown(): Promise<void> {
    await this.#worker?.close();
    await this.#queue?.close().catch(() => undefined);
    this.#redis?.disconnect();
  }
}

async function silence(): Promise<string> {
  await sleep(SILENCE_MS, undefined, { ref: false });
  return 'redis does not answer';
}

function away(): ApiError {
  const message = 'Redis cannot be reached: there is no queue to look at.';
  return new ApiError('store_unavailable', { message, retryAfter: 5 });
}

/** Says each thing once until something else is the matter: a connection that is away fails many times a second. */
function reporter(): (error: Error) => void {
  let last = '';
  return (error) => {
    if (error.message === last) return;
    last = error.message;
    log.error({ err: error }, 'the queue is in trouble');
  };
}
