/** States and the moves between them. */
export interface StateTable<State extends string> {
  readonly start: State;
  /** States in which everything ends. */
  readonly terminal: readonly State[];
  readonly moves: Readonly<Record<State, readonly State[]>>;
}

/** @throws Error when a state cannot be reached, a terminal state has an exit, or another has none */
export function requireSoundStates<State extends string>({
  start,
  terminal,
  moves,
}: StateTable<State>): void {
  const reached = new Set<State>([start]);
  for (const state of reached) for (const to of moves[state]) reached.add(to);
  for (const state of Object.keys(moves) as State[]) {
    if (!reached.has(state)) throw new Error(`State '${state}' cannot be reached from '${start}'.`);
    const exits = moves[state].length;
    if (terminal.includes(state) && exits > 0) throw new Error(`Terminal state '${state}' has an exit.`);
    if (!terminal.includes(state) && exits === 0)
      throw new Error(`State '${state}' has no exit and is not terminal.`);
  }
}
