import { type Scheduler } from '../src/pacing.js';

/** Time that passes only when told to. */
export class ManualScheduler implements Scheduler {
  private time = 0;
  private pending: { at: number; run: () => void }[] = [];
  /** How often something was woken. */
  wakeUps = 0;

  now(): number {
    return this.time;
  }

  after(ms: number, run: () => void): () => void {
    const entry = { at: this.time + ms, run };
    this.pending.push(entry);
    return () => {
      this.pending = this.pending.filter((other) => other !== entry);
    };
  }

  /** Whether anything waits. */
  get idle(): boolean {
    return this.pending.length === 0;
  }

  /** Lets `ms` pass in one leap, as after a blocked event loop: what falls due meanwhile is woken late, at the end. */
  leap(ms: number): void {
    this.time += ms;
    const due = this.pending.filter(({ at }) => at <= this.time);
    this.pending = this.pending.filter(({ at }) => at > this.time);
    for (const { run } of due) {
      this.wakeUps++;
      run();
    }
  }

  /** Lets `ms` pass, waking everything at its own instant. */
  pass(ms: number): void {
    const end = this.time + ms;
    for (;;) {
      const next = Math.min(end, ...this.pending.map(({ at }) => at));
      if (next >= end && !this.pending.some(({ at }) => at <= end)) break;
      this.leap(next - this.time);
    }
    this.time = end;
  }
}

/** No waiting at all: everything is due at once. For tests that are not about time. */
export const impatientScheduler: Scheduler = {
  now: () => performance.now() * 1e6,
  after: (_ms, run) => {
    const handle = setImmediate(run);
    return () => clearImmediate(handle);
  },
};
