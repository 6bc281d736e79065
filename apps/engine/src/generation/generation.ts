import { type Slot } from '../cache/prefix-cache.js';
import { type ModelOutput } from '../model/simulated-model.js';
import { Pacer, type Scheduler, TokenSchedule, type Verdict } from '../pacing.js';
import { type OutputEnd, sampledRange } from './output-end.js';
import { type EngineStats, type RequestRecord } from './stats.js';

/** Takes what a generation gives. */
export interface TokenSink {
  /** Ids in their order; `end` with the last of them. False asks to wait until the response has drained. */
  tokens(ids: Int32Array, end: OutputEnd | undefined): boolean;
  /** The engine has failed, and says so. */
  fail(message: string): void;
  /** The engine has failed, and the connection with it. */
  cut(): void;
}

/** Hands one output to its sink, token by token as they become due, and writes down what it did. */
export class Generation {
  private readonly pacer: Pacer;
  private sent = 0;
  private over = false;

  constructor(
    private readonly output: ModelOutput,
    private readonly end: OutputEnd,
    private readonly slot: Slot<unknown>,
    private readonly stats: EngineStats,
    private readonly record: RequestRecord,
    private readonly sink: TokenSink,
    pace: { scheduler: Scheduler; firstAt: number; tokensPerSecond: number },
  ) {
    const schedule = new TokenSchedule(pace.firstAt, pace.tokensPerSecond, output.stall);
    this.pacer = new Pacer(pace.scheduler, schedule, (due) => this.emit(due));
    slot.running = true;
  }

  start(): void {
    this.pacer.run();
  }

  /** Goes on after the sink asked to wait. */
  resume(): void {
    this.pacer.run();
  }

  /** The client has left: nothing is generated from here on. */
  abort(): void {
    if (this.over) return;
    this.record.aborted = true;
    this.record.finish_reason = 'abort';
    this.stats.aborted++;
    this.finish();
  }

  private emit(due: number): Verdict {
    const { failure } = this.output;
    const failsAt = failure?.after ?? Infinity;
    const upTo = Math.min(due, this.end.tokens, failsAt);
    const ids = sampledRange(this.output, this.sent, upTo);
    this.sent = upTo;
    this.slot.sequence.append(ids);
    this.record.completion_tokens = upTo;
    this.stats.tokensGenerated += ids.length;
    const ended = upTo === this.end.tokens;
    if (ended) this.record.finish_reason = this.end.finishReason;
    if (ended || upTo === failsAt) this.finish();
    const ready = ids.length === 0 && !ended ? true : this.sink.tokens(ids, ended ? this.end : undefined);
    if (failure && !ended && upTo === failsAt) {
      if (failure.kind === 'die') this.sink.cut();
      else this.sink.fail('The engine failed while generating (asked for by a sim marker).');
    }
    if (this.over) return 'done';
    return ready ? 'more' : 'wait';
  }

  private finish(): void {
    this.over = true;
    this.slot.running = false;
    this.stats.running--;
    this.pacer.stop();
  }
}
