import { type SteppedTokenizer } from './types.js';

/** Jobs of more UTF-16 units than this are large: one long word among them needs 24 bytes of memory a unit. */
const LARGE_UNITS = 1024 * 1024;

/** UTF-16 units of whole texts encoded in one step. */
const STEP_UNITS = 16_384;

/** Large jobs worked on at a time: the oldest, and one that is shorter. */
const LARGE_AT_ONCE = 2;

interface Job {
  readonly id: number;
  readonly texts: readonly string[];
  readonly large: boolean;
  readonly units: number;
  readonly ids: Int32Array[];
  /** The text being encoded. */
  current?: Iterator<void, Int32Array> | undefined;
  begun: boolean;
}

/** A job that is done: its number, and the ids of each of its texts. */
export interface Encoded {
  readonly id: number;
  readonly ids: readonly Int32Array[];
}

/**
 * Encoding jobs that share one thread. Every other step goes to the shortest job, so that a turn's few kB do not wait
 * for somebody's 15 MB; the steps between go to the oldest, so that no number of short ones keeps it waiting for ever.
 */
export class EncodeQueue {
  private readonly jobs = new Map<number, Job>();
  private oldestNext = false;

  constructor(private readonly tokenizer: Pick<SteppedTokenizer, 'steps'>) {}

  get idle(): boolean {
    return this.jobs.size === 0;
  }

  add(id: number, texts: readonly string[]): void {
    const units = texts.reduce((sum, text) => sum + text.length, 0);
    this.jobs.set(id, { id, texts, units, large: units > LARGE_UNITS, ids: [], begun: false });
  }

  /** Forgets a job; an unknown one is ignored. */
  drop(id: number): void {
    this.jobs.delete(id);
  }

  /** Goes on with one job for up to about 10 ms; the job, when that finished it. */
  step(): Encoded | undefined {
    const job = this.pick();
    if (job === undefined) return undefined;
    job.begun = true;
    // Many short texts are as good as a long one.
    for (let units = 0; job.ids.length < job.texts.length && units < STEP_UNITS;) {
      const text = job.texts[job.ids.length] ?? '';
      job.current ??= this.tokenizer.steps(text);
      const step = job.current.next();
      if (step.done !== true) return undefined;
      job.current = undefined;
      job.ids.push(step.value);
      units += text.length;
    }
    if (job.ids.length < job.texts.length) return undefined;
    this.jobs.delete(job.id);
    return job;
  }

  private pick(): Job | undefined {
    const jobs = [...this.jobs.values()];
    this.oldestNext = !this.oldestNext;
    const [oldest] = jobs;
    if (!this.oldestNext) return oldest;
    const begun = jobs.filter((job) => job.large && job.begun).length;
    const others = jobs.filter((job) => job.begun || !job.large || begun < LARGE_AT_ONCE);
    return others.reduce<Job | undefined>(
      (shortest, job) => (shortest === undefined || job.units < shortest.units ? job : shortest),
      undefined,
    );
  }
}
