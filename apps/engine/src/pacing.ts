/** Time, as far as the engine knows it. Tests bring their own. */
export interface Scheduler {
  /** Milliseconds on a clock that never goes back. */
  now(): number;
  /** Calls `run` once, `ms` from now, unless the returned function is called first. */
  after(ms: number, run: () => void): () => void;
}

/** The machine's clock. */
export const systemScheduler: Scheduler = {
  now: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** Absorbs rounding where an instant was computed from a count and is turned back into one. */
const EPSILON = 1e-6;

/** When each token of an output is due: an absolute schedule, so that a late wake-up is caught up with. */
export class TokenSchedule {
  constructor(
    /** When the first token is due, in the scheduler's milliseconds. */
    private readonly firstAt: number,
    private readonly tokensPerSecond: number,
    /** A pause of `ms` between token number `after` and the next one. */
    private readonly stall: { after: number; ms: number } = { after: Infinity, ms: 0 },
  ) {}

  /** When token `index` (from 0) is due. */
  dueAt(index: number): number {
    const at = this.firstAt + (index * 1000) / this.tokensPerSecond;
    return index < this.stall.after ? at : at + this.stall.ms;
  }

  /** How many tokens are due at `now`. */
  dueCount(now: number): number {
    const count = (elapsed: number): number =>
      elapsed + EPSILON < 0 ? 0 : Math.floor((elapsed * this.tokensPerSecond) / 1000 + EPSILON) + 1;
    const elapsed = now - this.firstAt;
    const undisturbed = count(elapsed);
    if (undisturbed <= this.stall.after) return undisturbed;
    return Math.max(this.stall.after, count(elapsed - this.stall.ms));
  }
}

/** What the receiver of tokens says to a batch. */
export type Verdict = 'more' | 'wait' | 'done';

/**
 * Hands out tokens as they become due: each wake-up emits all that are due in one call, so a fast model costs a
 * write a millisecond, not a write a token.
 */
export class Pacer {
  private emitted = 0;
  private cancel: (() => void) | undefined;
  private ended = false;

  /** @param emit gets how many tokens are due in all, always more than at its last call. */
  constructor(
    private readonly scheduler: Scheduler,
    private readonly schedule: TokenSchedule,
    private readonly emit: (due: number) => Verdict,
  ) {}

  /** Starts, or goes on after a verdict of 'wait'. */
  run(): void {
    if (this.ended || this.cancel) return;
    const delay = Math.ceil(this.schedule.dueAt(this.emitted) - this.scheduler.now());
    // Even what is overdue goes through the scheduler: other requests get their turn, and late tokens add up.
    this.cancel = this.scheduler.after(Math.max(0, delay), () => this.wake());
  }

  /** Emits nothing any more. */
  stop(): void {
    this.ended = true;
    this.cancel?.();
    this.cancel = undefined;
  }

  private wake(): void {
    this.cancel = undefined;
    const due = this.schedule.dueCount(this.scheduler.now());
    let verdict: Verdict = 'more';
    if (due > this.emitted) {
      this.emitted = due;
      verdict = this.emit(due);
    }
    if (verdict === 'done') this.stop();
    else if (verdict === 'more') this.run();
  }
}
