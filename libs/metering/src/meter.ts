import type { MeteredTurn } from './metered-turn.js';
import type { MeteringOptions } from './metering-options.js';
import { TurnMeter } from './turn-meter.js';

export interface MeterOptions extends MeteringOptions {
  /** Where the turns that run are found by their response ids; by default a map of its own. */
  readonly turns?: Map<string, TurnMeter> | undefined;
  /** Names of models by their other names: whatever a client calls a model, its price and its budgets are the model's. */
  readonly names?: ReadonlyMap<string, string> | undefined;
}

/** Meters the turns of one gateway. */
export class Meter {
  readonly #options: MeterOptions;
  readonly #turns: Map<string, TurnMeter>;

  constructor(options: MeterOptions) {
    this.#options = options;
    this.#turns = options.turns ?? new Map<string, TurnMeter>();
  }

  /** Whether no turn is taken: none could be written down. */
  get isFull(): boolean {
    return this.#options.journal.isFull;
  }

  /**
   * Begins to meter a turn, which is to be settled however it ends.
   * @param turn with its model by any name
   */
  begin(given: MeteredTurn): TurnMeter {
    const turn = { ...given, model: this.#options.names?.get(given.model) ?? given.model };
    const meter = new TurnMeter(turn, { ...this.#options, onEnd: () => this.#turns.delete(turn.id) });
    this.#turns.set(turn.id, meter);
    return meter;
  }

  /** Turns that something is held for. */
  get held(): readonly string[] {
    return [...this.#turns].filter(([, turn]) => turn.isHeld).map(([id]) => id);
  }
}
