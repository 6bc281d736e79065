import { describe, expect, it } from '@jest/globals';
import { TURN_STATES, TurnLifecycle, type TurnState } from './lifecycle.js';
import { requireSoundStates } from './state-table.js';

describe('TurnLifecycle', () => {
  it('goes through a turn and leaves a trace', () => {
    let now = 100;
    const turn = new TurnLifecycle(() => now);
    const moves: TurnState[] = ['admitted', 'held', 'dispatched', 'streaming', 'completed', 'settled'];
    for (const to of moves) {
      expect(turn.isTerminal).toBe(false);
      now += 0.5;
      turn.move(to);
      expect(turn.state).toBe(to);
    }
    expect(turn.isTerminal).toBe(true);
    expect([...turn.reached].slice(0, 3)).toEqual([
      ['received', 0],
      ['admitted', 0.5],
      ['held', 1],
    ]);
    expect(turn.trace).toBe(
      'received admitted+0.5 held+1.0 dispatched+1.5 streaming+2.0 completed+2.5 settled+3.0',
    );
  });

  it('allows exactly the moves of the table', () => {
    const states = Object.keys(TURN_STATES.moves) as TurnState[];
    for (const from of states) {
      for (const to of states) {
        const turn = at(from);
        if (TURN_STATES.moves[from].includes(to)) {
          turn.move(to);
          expect(turn.state).toBe(to);
        } else {
          expect(() => turn.move(to)).toThrow(`A turn cannot go from '${from}' to '${to}'.`);
          expect(turn.state).toBe(from);
        }
      }
    }
  });
});

/** A turn taken to a state by the shortest way. */
function at(state: TurnState): TurnLifecycle {
  const ways: TurnState[][] = [[TURN_STATES.start]];
  for (const way of ways) {
    const last = way.at(-1);
    if (last === undefined) continue;
    if (last === state) {
      const turn = new TurnLifecycle();
      for (const to of way.slice(1)) turn.move(to);
      return turn;
    }
    ways.push(...TURN_STATES.moves[last].map((to) => [...way, to]));
  }
  throw new Error(`No way to ${state}.`);
}

describe('requireSoundStates', () => {
  it.each([
    ["State 'c' cannot be reached from 'a'.", { a: ['b'], b: [], c: ['b'] }],
    ["Terminal state 'b' has an exit.", { a: ['b', 'c'], b: ['a'], c: ['a'] }],
    ["State 'c' has no exit and is not terminal.", { a: ['b', 'c'], b: [], c: [] }],
  ] as const)('refuses a table: %s', (message, moves) => {
    expect(() => requireSoundStates<'a' | 'b' | 'c'>({ start: 'a', terminal: ['b'], moves })).toThrow(
      message,
    );
  });
});
