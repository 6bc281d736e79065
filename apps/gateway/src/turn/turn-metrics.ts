import type { ResponseObject } from '@turnpike/protocol';
import { registry } from '@turnpike/telemetry';
import type { TurnState } from '@turnpike/turns';
import { Counter, Histogram } from 'prom-client';
import type { FinishedTurn } from './turn-log.js';

const turns = new Counter({
  name: 'turnpike_turns_total',
  help: 'Turns that made a response, by how they ended.',
  labelNames: ['model', 'transport', 'status'],
  registers: [registry],
});

const tokens = new Counter({
  name: 'turnpike_tokens_total',
  help: 'Tokens of responses: of prompts (cached: those the engine found in its cache) and of outputs.',
  labelNames: ['model', 'kind'],
  registers: [registry],
});

const prefixes = new Counter({
  name: 'turnpike_prefix_tokens_total',
  help: 'Tokens of earlier prompts and outputs that the next prompt began with (kept), or not (rewound).',
  labelNames: ['model', 'kind'],
  registers: [registry],
});

const work = new Counter({
  name: 'turnpike_work_total',
  help: 'Work that stages did, in the units of their counters: the part of a conversation that was new.',
  labelNames: ['unit'],
  registers: [registry],
});

const stages = new Histogram({
  name: 'turnpike_stage_seconds',
  help: 'Time that a stage took for what was new in a turn.',
  labelNames: ['stage'],
  buckets: [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
  registers: [registry],
});

/** What the states of a turn are called where its times are told. */
const UNTIL: Partial<Record<TurnState, string>> = {
  dispatched: 'engine_asked',
  streaming: 'first_token',
  completed: 'end',
  incomplete: 'end',
  failed: 'end',
  cancelled: 'end',
};

const times = new Histogram({
  name: 'turnpike_turn_seconds',
  help: 'Time from a request to what became of it: an engine was asked, the first of the answer came, it ended.',
  labelNames: ['transport', 'until'],
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
  registers: [registry],
});

/** Counts a turn that has ended: once a turn, nothing a token. */
export function countTurn({
  turn,
  response,
  transport,
  lifecycle,
  prefix,
}: Pick<FinishedTurn, 'turn' | 'response' | 'transport' | 'lifecycle' | 'prefix'>): void {
  const { model } = response;
  turns.inc({ model, transport, status: response.status });
  countTimes(transport, lifecycle);
  countTokens(model, response.usage);
  prefixes.inc({ model, kind: 'kept' }, prefix?.kept ?? 0);
  prefixes.inc({ model, kind: 'rewound' }, prefix?.rewound ?? 0);
  for (const [unit, amount] of turn.work) work.inc({ unit }, amount);
  for (const [stage, microseconds] of turn.timings) stages.observe({ stage }, microseconds / 1e6);
}

/** What a turn did not come to is not counted: one that is refused on the way asks no engine. */
function countTimes(transport: FinishedTurn['transport'], { reached }: FinishedTurn['lifecycle']): void {
  for (const [state, ms] of reached) {
    const until = UNTIL[state];
    if (until !== undefined) times.observe({ transport, until }, ms / 1000);
  }
}

function countTokens(model: string, usage: ResponseObject['usage']): void {
  if (usage === null) return;
  tokens.inc({ model, kind: 'input' }, usage.input_tokens);
  tokens.inc({ model, kind: 'cached' }, usage.input_tokens_details.cached_tokens);
  tokens.inc({ model, kind: 'output' }, usage.output_tokens);
  tokens.inc({ model, kind: 'reasoning' }, usage.output_tokens_details.reasoning_tokens);
}
