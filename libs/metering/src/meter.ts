import type { BudgetSource, Holds } from './holds.js';
import type { Journal } from './journal/journal.js';
import type { PriceBook } from './price-book.js';
import { TurnMeter, type MeteredTurn } from './turn-meter.js';

export interface MeterOptions {
  readonly journal: Pick<Journal, 'admit' | 'progress' | 'settle'>;
  readonly prices: PriceBook;
  /** Without them nobody's spending is limited. */
  readonly budgets?: BudgetSource | undefined;
  readonly holds?: Holds | undefined;
  /** Tokens of output between two progress records: what a crash can leave unbilled of a turn. */
  readonly progressTokens: number;
  /** Tokens of output that are held at a time for a request without `max_output_tokens`. */
  readonly holdOutputTokens: number;
  readonly now?: (() => number) | undefined;
  /** Called when a hold could not be ended; its booking, or its expiry, does. */
  readonly onHoldFailure?: ((error: unknown) => void) | undefined;
}

/** Meters the turns of one gateway. */
export class Meter {
  readonly #options: MeterOptions;
  readonly #turns = new Map<string, TurnMeter>();

  constructor(options: MeterOptions) {
    this.#options = options;
  }

  /** Begins to meter a turn, which is to be settled however it ends. */
  begin(turn: MeteredTurn): TurnMeter {
    const meter = new TurnMeter(turn, { ...this.#options, onEnd: () => this.#turns.delete(turn.id) });
    this.#turns.set(turn.id, meter);
    return meter;
  }

  /** The meter of a turn that runs. */
  find(id: string): TurnMeter | undefined {
    return this.#turns.get(id);
  }

  /** Turns that something is held for. */
  get held(): readonly string[] {
    return [...this.#turns].filter(([, turn]) => turn.isHeld).map(([id]) => id);
  }
}
