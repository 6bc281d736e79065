import { Inject, Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { KeyRing } from '@turnpike/access';
import type { BackgroundJobs, ExpiredJob } from '@turnpike/background';
import { ApiError } from '@turnpike/protocol';
import { randomUUID } from 'node:crypto';
import type { Config } from '../config/schema.js';
import { log } from '../log.js';
import { BACKGROUND_JOBS, CONFIG } from '../tokens.js';
import { failedBy } from '../turn/ending.js';
import { TurnService } from '../turn/turn.service.js';
import { BackgroundRun } from './background-run.js';
import { Changes } from './changes.js';
import { endedBeforeAnything } from './ended.js';
import { repeat, type Repeated } from './repeat.js';

/** How often jobs that another gateway accepted are looked for, in ms. */
const CLAIM_MS = 1_000;
/** How often is asked whether another gateway wants a job of this one cancelled, in ms. */
const CHECK_MS = 500;
/** How often leases are renewed, several times in the life of one, and those of others are looked at, in ms. */
const LEASE_CHECK_MS = 5_000;
/** How long jobs that were cut off may take to be stored, in ms. */
const STORE_MS = 2_000;

/**
 * Runs the background responses of this gateway: a bounded number at once, the oldest of the queue first, whoever
 * accepted it. Ends those whose gateway is gone.
 */
@Injectable()
export class BackgroundRunner implements BeforeApplicationShutdown {
  readonly #name = randomUUID();
  readonly #running = new Map<string, BackgroundRun>();
  #repeated: Repeated[] = [];
  #claims: Promise<void> = Promise.resolve();
  #isStopping = false;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(BACKGROUND_JOBS) private readonly jobs: BackgroundJobs,
    @Inject(TurnService) private readonly turns: TurnService,
    @Inject(KeyRing) private readonly keys: KeyRing,
    @Inject(Changes) private readonly changes: Changes,
  ) {}

  /** True once nothing new is begun. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** Whether this gateway is making the response. */
  runs(id: string): boolean {
    return this.#running.has(id);
  }

  /** Begins to take jobs. Not before the server is sure to stay: what it takes fails when it ends. */
  start(): void {
    const onFailure = (task: string) => (thrown: unknown) =>
      log.error({ err: thrown, task }, 'background queue failed');
    this.#repeated = [
      repeat(CLAIM_MS, () => this.#claimNext(), onFailure('claim')),
      repeat(CHECK_MS, () => this.#check(), onFailure('check')),
      repeat(LEASE_CHECK_MS, () => this.#keepLeases(), onFailure('lease')),
    ];
  }

  /** Begins what waits, if there is room. What fails is tried again soon, and reported then. */
  poke(): void {
    this.#claimNext().catch(() => undefined);
  }

  /** Cuts a response off that is made here. Resolves when it has ended; undefined when it is not made here. */
  cancel(id: string): Promise<void> | undefined {
    return this.#cut(id, 'cancelled');
  }

  /** Stops making a response that is not wanted any more. */
  forget(id: string): void {
    void this.#cut(id, 'lost');
  }

  /** What runs may finish until the deadline; what waits stays in the queue. */
  async beforeApplicationShutdown(): Promise<void> {
    this.#isStopping = true;
    await this.#claims;
    const { drainMs } = this.config.limits;
    const runs = [...this.#running.values()];
    const deadline = setTimeout(() => runs.forEach((run) => run.cut('restart')), drainMs);
    const end = setTimeout(() => runs.forEach((run) => run.abandon()), drainMs + STORE_MS);
    await Promise.all(runs.map(({ done }) => done));
    clearTimeout(deadline);
    clearTimeout(end);
    await Promise.all(this.#repeated.map((each) => each.stop()));
  }

  /** One claim at a time: the room that it finds is its own. */
  #claimNext(): Promise<void> {
    const claim = this.#claims.then(() => this.#claim());
    this.#claims = claim.catch(() => undefined);
    return claim;
  }

  async #claim(): Promise<void> {
    const room = this.config.limits.backgroundRunning - this.#running.size;
    if (this.#isStopping || room <= 0) return;
    for (const job of await this.jobs.claim(this.#name, room)) {
      const { jobs, turns, keys, changes } = this;
      const eventBytes = this.config.limits.backgroundEventBytes;
      const run = new BackgroundRun(job, { jobs, turns, keys, changes, runner: this.#name, eventBytes });
      this.#running.set(job.id, run);
      changes.changed(job.id);
      void run.done.finally(() => {
        this.#running.delete(job.id);
        this.poke();
      });
    }
  }

  #cut(id: string, why: 'cancelled' | 'lost'): Promise<void> | undefined {
    const run = this.#running.get(id);
    run?.cut(why);
    return run?.done;
  }

  /** Cuts off what another gateway was asked to cancel, and what this one does not hold any more. */
  async #check(): Promise<void> {
    const ids = [...this.#running.keys()];
    if (ids.length === 0) return;
    const held = await this.jobs.held(this.#name);
    for (const id of ids) {
      const job = held.get(id);
      if (job === undefined) this.forget(id);
      else if (job.cancelRequested) void this.cancel(id);
    }
  }

  /** Its own first: one that was held up must not take itself for gone. */
  async #keepLeases(): Promise<void> {
    const ids = [...this.#running.keys()];
    if (ids.length > 0) await this.jobs.renew(this.#name, ids);
    for (const job of await this.jobs.expired()) await this.#giveUp(job);
  }

  async #giveUp(job: ExpiredJob): Promise<void> {
    const ending = job.cancelRequested
      ? ({ status: 'cancelled' } as const)
      : failedBy(new ApiError('server_restarted'));
    if (!(await this.jobs.end(endedBeforeAnything(job, ending), { kind: 'gone' }))) return;
    this.changes.changed(job.id);
    log.warn({ response: job.id }, 'background response was left behind by its gateway');
  }
}
