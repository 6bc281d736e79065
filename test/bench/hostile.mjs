// How much one hostile client delays the events of another connection. `npm run bench:hostile -- --help` explains.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { ATTACKS } from './attacks.mjs';
import { readOptions } from './options.mjs';
import { startProcesses } from './processes.mjs';

const HELP = `npm run bench:hostile -- [--seconds N]

One connection streams a response at 100 tokens/s. Meanwhile another process sends, one after the other, what is known to
stall servers of this kind, once a second. Printed is how long the first connection's events were late: the gap between
two events minus the 10 ms between two tokens. A third connection begins small turns meanwhile, of 23 kB each and with
nothing known about them: how long each took to its first event after response.in_progress is printed as well. The first
row, without an attack, is what the machine itself does.

  --seconds N   seconds of watching for each row (4)
`;

/** What a turn sends before anything is said. */
const PRELUDE = ['response.created', 'response.in_progress', 'keepalive'];
let turnsBegun = 0;

const values = readOptions(HELP, { seconds: '4' });
const watchMs = Number(values.seconds) * 1000;
const processes = await startProcesses({ tps: 100, ttftMs: 0, prefillUsPerToken: 0 });
const url = `${processes.gateway.url.replace('http', 'ws')}/v1/responses`;
const rows = [];
try {
  for (const [index, [name]] of ATTACKS.entries()) rows.push([name, await underAttack(index)]);
} finally {
  await processes.stop();
}

process.stdout.write(
  '\n| attack | events | median late ms | p99 late ms | worst late ms | turns | median turn ms | worst turn ms |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n',
);
for (const [name, { late, turns }] of rows) {
  const cells = [
    late.length,
    ...[0.5, 0.99, 1].map((share) => at(late, share)),
    turns.length,
    at(turns, 0.5),
    at(turns, 1),
  ];
  process.stdout.write(`| ${name} | ${cells.join(' | ')} |\n`);
}

/** The value below which that share of them lies. */
function at(values, share) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]?.toFixed(1) ?? '-';
}

/** How late each event of the watched connection was during the attack, and how long new turns took, in ms. */
async function underAttack(index) {
  const watched = await connect();
  const newcomer = await connect();
  const attacker = fork(fileURLToPath(new URL('attacks.mjs', import.meta.url)), [url, String(index)]);
  await new Promise((resolve) => attacker.once('message', resolve));
  const late = [];
  let last;
  watched.on('message', (data) => {
    if (!String(data).includes('.delta')) return;
    const now = performance.now();
    if (last !== undefined) late.push(Math.max(0, now - last - 10));
    last = now;
  });
  watched.send(
    JSON.stringify({
      type: 'response.create',
      model: 'sim',
      input: '[sim tokens=100000]',
      reasoning: { effort: 'low' },
    }),
  );
  await pause(500);
  late.length = 0;
  attacker.send('go');
  const turns = await smallTurns(newcomer, performance.now() + watchMs);
  watched.terminate();
  newcomer.terminate();
  attacker.kill();
  return { late, turns };
}

/** Turns one after the other until `end`: how long each took to its first event that says something, in ms. */
function smallTurns(socket, end) {
  const durations = [];
  let startedAt;
  let answered;
  const begin = () => {
    answered = false;
    startedAt = performance.now();
    const input = `${++turnsBegun} ${'some words of a turn '.repeat(1_100)}`;
    const fields = { model: 'sim', input, max_output_tokens: 8, reasoning: { effort: 'low' } };
    socket.send(JSON.stringify({ type: 'response.create', ...fields }));
  };
  return new Promise((resolve) => {
    // A turn that is not answered in time counts as far as it came.
    const timer = setTimeout(() => {
      if (!answered) durations.push(performance.now() - startedAt);
      resolve(durations);
    }, end - performance.now());
    socket.on('message', (data) => {
      const { type, response } = JSON.parse(String(data));
      if (!answered && !PRELUDE.includes(type)) {
        answered = true;
        durations.push(performance.now() - startedAt);
      }
      if (type === 'error' || (response !== undefined && !PRELUDE.includes(type))) {
        if (performance.now() < end) return begin();
        clearTimeout(timer);
        resolve(durations);
      }
    });
    begin();
  });
}

async function connect() {
  const socket = new WebSocket(url, { perMessageDeflate: false });
  await new Promise((resolve) => socket.once('open', resolve));
  return socket;
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
