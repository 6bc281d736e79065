import type { ErrorCode } from '@turnpike/protocol';

/** A `stream_id`; undefined is the default lane. */
export type LaneId = string | undefined;

export interface LaneLimits {
  /** Responses that run at once, all lanes together. */
  readonly running: number;
  /** Distinct named lanes over the life of a connection; a finished lane does not give its name back. */
  readonly named: number;
  /** Responses that wait, all lanes together. */
  readonly queued: number;
  /** Bytes of requests that wait, all lanes together. */
  readonly queuedBytes: number;
}

/**
 * `running` and `named` are OpenAI's documented limits of the WebSocket mode, which names none for what waits: those two
 * are ours, so that a client cannot fill the memory with requests it never lets run.
 */
export const LANE_LIMITS: LaneLimits = { running: 16, named: 32, queued: 256, queuedBytes: 64 * 1024 * 1024 };

export type LaneRefusal = Extract<ErrorCode, 'websocket_stream_limit_reached' | 'too_many_queued_responses'>;

/** What becomes of a submitted job. */
export type LaneDecision =
  | { readonly kind: 'start' }
  | { readonly kind: 'queue' }
  | { readonly kind: 'refuse'; readonly code: LaneRefusal };

/** A job whose turn has come. */
export interface LaneStart<Job> {
  readonly lane: LaneId;
  readonly job: Job;
}

interface Waiting<Job> {
  readonly job: Job;
  readonly bytes: number;
}

interface Lane<Job> {
  readonly id: LaneId;
  readonly queue: Waiting<Job>[];
  running: boolean;
}

/**
 * Decides which response of a connection runs when: first in, first out within a lane, lanes beside each other, and
 * where more lanes have work than may run, each in its turn. Only decides: the caller runs the jobs and reports each
 * end with {@link finish}.
 */
export class LaneScheduler<Job> {
  readonly #limits: LaneLimits;
  readonly #lanes = new Map<LaneId, Lane<Job>>();
  /** Lanes with a job that could run now if a place were free, longest waiting first. */
  readonly #ready: Lane<Job>[] = [];
  #running = 0;
  #queued = 0;
  #queuedBytes = 0;

  constructor(limits: LaneLimits = LANE_LIMITS) {
    this.#limits = limits;
  }

  get running(): number {
    return this.#running;
  }
  get queued(): number {
    return this.#queued;
  }

  /**
   * `start`: the caller runs the job now. `queue`: a later {@link finish} returns it. `refuse`: nothing changed.
   * @param bytes what the job takes in memory while it waits
   */
  submit(id: LaneId, job: Job, bytes = 0): LaneDecision {
    const known = this.#lanes.get(id);
    if (known === undefined && id !== undefined && this.#named() >= this.#limits.named) {
      return { kind: 'refuse', code: 'websocket_stream_limit_reached' };
    }
    const starts = !known?.running && this.#running < this.#limits.running;
    if (!starts && !this.#fits(bytes)) return { kind: 'refuse', code: 'too_many_queued_responses' };
    const lane = known ?? this.#open(id);
    if (starts) {
      lane.running = true;
      this.#running += 1;
      return { kind: 'start' };
    }
    lane.queue.push({ job, bytes });
    this.#queued += 1;
    this.#queuedBytes += bytes;
    if (!lane.running && lane.queue.length === 1) this.#ready.push(lane);
    return { kind: 'queue' };
  }

  /**
   * Frees the place of the job that ran in this lane.
   * @returns the job that takes it, if one waits; the caller runs it
   * @throws Error when nothing ran in this lane
   */
  finish(id: LaneId): LaneStart<Job> | undefined {
    const lane = this.#lanes.get(id);
    if (!lane?.running) throw new Error(`Nothing runs in lane '${id ?? 'default'}'.`);
    lane.running = false;
    this.#running -= 1;
    if (lane.queue.length > 0) this.#ready.push(lane);
    return this.#startNext();
  }

  /**
   * Empties the queues, as when the connection closes. What runs keeps its place until it finishes.
   * @returns the jobs that will not run
   */
  clear(): Job[] {
    const dropped = [...this.#lanes.values()].flatMap(({ queue }) => queue.splice(0));
    this.#ready.length = 0;
    this.#queued = 0;
    this.#queuedBytes = 0;
    return dropped.map(({ job }) => job);
  }

  #startNext(): LaneStart<Job> | undefined {
    const lane = this.#ready.shift();
    const next = lane?.queue.shift();
    if (lane === undefined || next === undefined) return undefined;
    lane.running = true;
    this.#running += 1;
    this.#queued -= 1;
    this.#queuedBytes -= next.bytes;
    return { lane: lane.id, job: next.job };
  }

  #fits(bytes: number): boolean {
    return this.#queued < this.#limits.queued && this.#queuedBytes + bytes <= this.#limits.queuedBytes;
  }

  #open(id: LaneId): Lane<Job> {
    const lane: Lane<Job> = { id, queue: [], running: false };
    this.#lanes.set(id, lane);
    return lane;
  }

  #named(): number {
    return this.#lanes.size - (this.#lanes.has(undefined) ? 1 : 0);
  }
}
