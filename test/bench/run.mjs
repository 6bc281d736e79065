// Agent loops over each transport, interleaved in one run. `npm run bench -- --help` explains.
import { writeFileSync } from 'node:fs';
import { contextText } from './context.mjs';
import { readOptions } from './options.mjs';
import { startQueuedPair } from './outage.mjs';
import { cpuMs, startProcesses } from './processes.mjs';
import { printStages, printTable, ratiosOf, summarise } from './report.mjs';
import { appendTransport, floorTransport, httpTransport, webSocketTransport } from './transports.mjs';

const HELP = `npm run bench -- [options]

An agent loop (one user message, then tool calls until the answer) over five transports, each part in a process of its own:
  http-replay    POST, whole history each turn, no reuse: how a plain gateway works
  http-previous  POST with previous_response_id and new items only
  websocket      WebSocket mode with previous_response_id and new items only
  append         WebSocket mode with one response that stays open (experimental): response.append instead of a new turn
  floor          a bare WebSocket pass-through to the engine (test/bench/floor.mjs)
and, at the smallest context, over two more, with a Redis, a Postgres and a billing worker behind each gateway:
  queued         websocket, usage going through the queue into the ledger
  outage         the same, Redis and Postgres having been killed before it was measured

Options:
  --contexts LIST   tokens of context before the loop starts, comma-separated (1000,50000,200000)
  --calls N         tool calls a loop (20)
  --rounds N        loops per transport and context (3)
  --tps N           engine speed, tokens/s (1000)
  --ttft-ms N       engine's time to the first token, ms (20)
  --no-services     leave out queued and outage, which need Redis and Postgres (npm run services -- --help)
  --stages          show where the gateway's time goes in a turn (its debug log is on, which costs a little)
  --compact         two rounds, for a look in under two minutes
  --json FILE       write all numbers, with a flat 'ratios' object
  --help

Overhead of a turn is its wall time minus the engine's stated time for it (time to first token, prefill of uncached
tokens, output tokens at the stated speed). The first turn of a loop, which brings the context, is not in the medians
per turn; it is in the loop's wall time. CPU is that of the gateway (or floor) process, all threads.
`;

const values = readOptions(HELP, {
  contexts: '1000,50000,200000',
  calls: '20',
  rounds: '3',
  tps: '1000',
  'ttft-ms': '20',
  'no-services': false,
  stages: false,
  compact: false,
  json: undefined,
});

const contexts = values.contexts.split(',').map(Number);
const calls = Number(values.calls);
const rounds = values.compact ? 2 : Number(values.rounds);
/** Prefill cost of the simulated engine: 2 us a token is 500,000 tokens/s. */
const speed = { tps: Number(values.tps), ttftMs: Number(values['ttft-ms']), prefillUsPerToken: 2 };
/** What a tool returns: about 100 tokens. */
const TOOL_OUTPUT = 'src/turns/pipeline.ts: 42 lines checked, nothing to report. '.repeat(7);

const processes = await startProcesses({ ...speed, log: values.stages ? 'debug' : 'warn' });
const transports = {
  'http-replay': {
    open: () => httpTransport(processes.gateway.url, { full: true }),
    server: processes.gateway,
  },
  'http-previous': {
    open: () => httpTransport(processes.gateway.url, { full: false }),
    server: processes.gateway,
  },
  websocket: { open: () => webSocketTransport(processes.gateway.url), server: processes.gateway },
  append: { open: () => appendTransport(processes.gateway.url), server: processes.gateway },
  floor: { open: () => floorTransport(processes.floor.url), server: processes.floor },
};

/** The engine's stated time for a turn, in ms. */
function statedMs({ input_tokens, input_tokens_details, output_tokens }) {
  const uncached = input_tokens - input_tokens_details.cached_tokens;
  return (
    speed.ttftMs + (uncached * speed.prefillUsPerToken) / 1000 + ((output_tokens - 1) * 1000) / speed.tps
  );
}

/** One loop: its turns after the first, and the whole. */
async function loop(name, contextTokens, salt) {
  const { open, server } = transports[name];
  const transport = await open();
  let input = [{ role: 'user', content: `${contextText(contextTokens, salt)}\n[sim calls=${calls}]` }];
  const history = [];
  const turns = [];
  let previous;
  const logged = server.turns.length;
  const startedAt = performance.now();
  let cpuBefore = Number.NaN;
  for (;;) {
    const turn = await transport.turn({ input, history, previous });
    if (turns.length === 0) cpuBefore = cpuMs(server);
    turns.push({
      ttftMs: turn.ttftMs,
      wallMs: turn.wallMs,
      overheadMs: turn.wallMs - statedMs(turn.usage),
      usage: turn.usage,
    });
    history.push(...input, ...turn.output);
    previous = turn.id;
    const open = turn.output.filter(({ type }) => type === 'function_call');
    if (open.length === 0) break;
    input = open.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: TOOL_OUTPUT }));
  }
  const wallMs = performance.now() - startedAt;
  const cpu = (cpuMs(server) - cpuBefore) / (turns.length - 1);
  await transport.close();
  if (turns.length !== calls + 1) throw new Error(`${name}: ${turns.length} turns instead of ${calls + 1}`);
  return { wallMs, cpuMs: cpu, turns: turns.slice(1), log: server.turns.slice(logged + 1) };
}

const results = [];
let salt = 1;
async function measure(round, contextTokens, name) {
  results.push({ name, contextTokens, round, ...(await loop(name, contextTokens, salt++)) });
  process.stderr.write(`round ${round + 1}/${rounds}  ${contextTokens} tokens  ${name}\n`);
}

/** Behind all others, whose CPU time they would share. */
async function measureOutage() {
  const pair = await startQueuedPair(processes);
  try {
    for (const name of ['queued', 'outage']) {
      transports[name] = { open: () => webSocketTransport(pair[name].url), server: pair[name] };
      await loop(name, 200, 0);
    }
    await pair.cutOff();
    for (let round = 0; round < rounds; round++) {
      for (const name of ['queued', 'outage']) await measure(round, Math.min(...contexts), name);
    }
  } finally {
    await pair.remove();
  }
}

try {
  // One short loop each before anything is measured: code is compiled, caches are filled.
  for (const name of Object.keys(transports)) await loop(name, 200, 0);
  const names = Object.keys(transports);
  for (let round = 0; round < rounds; round++) {
    for (const contextTokens of contexts) for (const name of names) await measure(round, contextTokens, name);
  }
  if (!values['no-services']) await measureOutage();
} finally {
  await processes.stop();
}

const rows = summarise(results);
const ratios = ratiosOf(rows, contexts);
printTable(rows, ratios, { ...speed, calls, rounds });
if (values.stages) printStages(results);
if (values.json)
  writeFileSync(values.json, `${JSON.stringify({ speed, calls, rounds, rows, ratios }, null, 2)}\n`);
