import type { MeteredTurn } from './metered-turn.js';
import type { MeteringOptions } from './metering-options.js';
import { TurnMeter } from './turn-meter.js';

export interface MeterOptions extends MeteringOptions {
  /** Where the turns that run are found by their response ids; by default a map of its own. */
  readonly turns?: Map<string, TurnMeter> | undefined;
  /** The name that a model is billed by, of one that clients use; by default the same. */
  readonly modelOf?: ((name: string) => string) | undefined;
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

  /** Begins to meter a turn, which is to be settled however it ends. */
  begin(turn: MeteredTurn): TurnMeter {
    const { modelOf = (name) => name } = this.#options;
    const meter = new TurnMeter(
      { ...turn, model: modelOf(turn.model) },
      { ...this.#options, onEnd: () => this.#turns.delete(turn.id) },
    );
    this.#turns.set(turn.id, meter);
    return meter;
  }

  /** Turns that something is held for. */
  get held(): readonly string[] {
    return [...this.#turns].filter(([, turn]) => turn.isHeld).map(([id]) => id);
  }
}
