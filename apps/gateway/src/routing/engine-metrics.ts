import { STANDINGS, type Outcome, type Standing } from '@turnpike/routing';
import { registry } from '@turnpike/telemetry';
import { Counter, Gauge } from 'prom-client';

/** What metrics show of engines, by their names. */
export interface ShownEngines {
  names(): readonly string[];
  standing(name: string): Standing;
  load(name: string): number;
}

let shown: ShownEngines | undefined;

const requests = new Counter({
  name: 'turnpike_engine_requests_total',
  help: 'Requests to engines, by what became of them.',
  labelNames: ['engine', 'outcome'],
  registers: [registry],
});

const failovers = new Counter({
  name: 'turnpike_failovers_total',
  help: 'Answers that were begun on another engine because the first failed before anything was sampled.',
  labelNames: ['model', 'from', 'to'],
  registers: [registry],
});

new Gauge({
  name: 'turnpike_engine_standing',
  help: 'How an engine stands towards new requests: 1 for its standing, 0 for the others.',
  labelNames: ['engine', 'standing'],
  registers: [registry],
  collect() {
    for (const engine of shown?.names() ?? []) {
      const now = shown?.standing(engine);
      for (const standing of STANDINGS) this.set({ engine, standing }, standing === now ? 1 : 0);
    }
  },
});

new Gauge({
  name: 'turnpike_engine_running',
  help: 'Requests of this gateway that an engine is answering.',
  labelNames: ['engine'],
  registers: [registry],
  collect() {
    for (const engine of shown?.names() ?? []) this.set({ engine }, shown?.load(engine) ?? 0);
  },
});

/** Makes the gauges show these engines. */
export function watchBoard(engines: ShownEngines): void {
  shown = engines;
}

/** Counts a request that is over. */
export function countOutcome(engine: string, outcome: Outcome): void {
  requests.inc({ engine, outcome });
}

/** Counts an answer that begins on another engine. */
export function countFailover(model: string, from: string, to: string): void {
  failovers.inc({ model, from, to });
}
