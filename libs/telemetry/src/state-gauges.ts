import { Gauge } from 'prom-client';
import { registry } from './registry.js';

/** Gauges of one state, each by its name: what it says, and its value. */
export type GaugesOf<State> = Readonly<
  Record<string, readonly [help: string, value: (state: State) => number]>
>;

/**
 * Gauges of a state that is asked for whenever metrics are read.
 * @returns says where the state is from; before that the gauges have no value
 */
export function stateGauges<State>(gauges: GaugesOf<State>): (source: () => State) => void {
  let read: (() => State) | undefined;
  for (const [name, [help, value]] of Object.entries(gauges)) {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        if (read !== undefined) this.set(value(read()));
      },
    });
  }
  return (source) => {
    read = source;
  };
}
