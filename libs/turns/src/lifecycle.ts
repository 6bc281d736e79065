import { requireSoundStates, type StateTable } from './state-table.js';

export type TurnState =
  | 'received'
  | 'admitted'
  | 'held'
  | 'dispatched'
  | 'streaming'
  | 'completed'
  | 'incomplete'
  | 'failed'
  | 'cancelled'
  | 'settled'
  | 'abandoned';

/**
 * The life of a turn: each state and where it may go.
 *
 * - `received`: a request on its lane, nothing checked.
 * - `admitted`: parent, validation and routing have passed; the response exists.
 * - `held`: the worst case is reserved, for keys with a limit.
 * - `dispatched`: an engine has the prompt; a client can interrupt before anything comes back. `streaming`: the first ids
 *   have.
 * - `completed`, `incomplete`, `failed`, `cancelled`: the client has its terminal event, or none can reach it. A warm-up
 *   completes without an engine, and a client can interrupt before there is one.
 * - `settled`: what it used, and what that costs, is written down. `abandoned`: it ended before an engine was asked; there
 *   is nothing to write down, and what was held for it is released.
 */
export const TURN_STATES: StateTable<TurnState> = {
  start: 'received',
  terminal: ['settled', 'abandoned'],
  moves: {
    received: ['admitted', 'failed', 'cancelled'],
    admitted: ['held', 'dispatched', 'completed', 'incomplete', 'failed', 'cancelled'],
    held: ['dispatched', 'completed', 'incomplete', 'failed', 'cancelled'],
    dispatched: ['streaming', 'incomplete', 'failed', 'cancelled'],
    streaming: ['completed', 'incomplete', 'failed', 'cancelled'],
    completed: ['settled'],
    incomplete: ['settled', 'abandoned'],
    failed: ['settled', 'abandoned'],
    cancelled: ['settled', 'abandoned'],
    settled: [],
    abandoned: [],
  },
};
requireSoundStates(TURN_STATES);

/** Where one turn stands. */
export class TurnLifecycle {
  readonly #now: () => number;
  readonly #startedAt: number;
  readonly #reached = new Map<TurnState, number>([[TURN_STATES.start, 0]]);
  #state: TurnState = TURN_STATES.start;

  /** @param now a clock in milliseconds */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.#startedAt = now();
  }

  get state(): TurnState {
    return this.#state;
  }

  /** True when nothing can follow. */
  get isTerminal(): boolean {
    return TURN_STATES.terminal.includes(this.#state);
  }

  /** The states so far, in their order, each with the milliseconds since the turn was received. */
  get reached(): ReadonlyMap<TurnState, number> {
    return this.#reached;
  }

  /** The same as text: `received admitted+0.4 dispatched+1.9`. */
  get trace(): string {
    const moves = [...this.#reached].slice(1).map(([state, ms]) => ` ${state}+${ms.toFixed(1)}`);
    return TURN_STATES.start + moves.join('');
  }

  /** @throws Error when the table does not allow the move */
  move(to: TurnState): void {
    if (!TURN_STATES.moves[this.#state].includes(to)) {
      throw new Error(`A turn cannot go from '${this.#state}' to '${to}'.`);
    }
    this.#state = to;
    this.#reached.set(to, this.#now() - this.#startedAt);
  }
}
