// How much one hostile client delays the events of another connection. `npm run bench:hostile -- --help` explains.
import { parseArgs } from 'node:util';
import { WebSocket } from 'ws';
import { startProcesses } from './processes.mjs';

const HELP = `npm run bench:hostile -- [--seconds N]

One connection streams a response at 100 tokens/s. Meanwhile another one sends, one after the other, what is known to
stall servers of this kind. Printed is how long the first connection's events were late: the gap between two events
minus the 10 ms between two tokens. The first row, without an attack, is what the machine itself does.

  --seconds N   seconds of watching for each row (4)
`;

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '4' }, help: { type: 'boolean', default: false } },
});
if (values.help) {
  process.stdout.write(HELP);
  process.exit(0);
}
const watchMs = Number(values.seconds) * 1000;
const MEGABYTE = 1_000_000;

const text = (input) => JSON.stringify({ type: 'response.create', model: 'sim', generate: false, input });
/** Name, and what is sent on a connection of its own. */
const ATTACKS = [
  ['none', () => undefined],
  ["1 MB of 'a'", (socket) => socket.send(text('a'.repeat(MEGABYTE)))],
  ['1 MB of spaces', (socket) => socket.send(text(' '.repeat(MEGABYTE)))],
  ["1 MB of '^'", (socket) => socket.send(text('^'.repeat(MEGABYTE)))],
  ['1 MB of newlines', (socket) => socket.send(text('\n'.repeat(MEGABYTE)))],
  ['1 MB of emoji', (socket) => socket.send(text('😀'.repeat(MEGABYTE / 4)))],
  ['1 MB of Hangul', (socket) => socket.send(text('가'.repeat(MEGABYTE / 3)))],
  ['1 MB of brackets', (socket) => socket.send('['.repeat(MEGABYTE))],
  [
    '20,000 items',
    (socket) => socket.send(text(Array.from({ length: 20_000 }, () => ({ role: 'user', content: 'x y z' })))),
  ],
  [
    '10,000 bad frames',
    (socket) => {
      for (let i = 0; i < 10_000; i++) socket.send('{"type":"nonsense"}');
    },
  ],
  [
    '100,000 tiny fragments',
    (socket) => {
      for (let i = 0; i < 100_000; i++) socket.send('x', { fin: false });
    },
  ],
];

const processes = await startProcesses({ tps: 100, ttftMs: 0, prefillUsPerToken: 0 });
const url = `${processes.gateway.url.replace('http', 'ws')}/v1/responses`;
const rows = [];
try {
  for (const [name, attack] of ATTACKS) rows.push([name, await lateness(attack)]);
} finally {
  processes.stop();
}

process.stdout.write(
  '\n| attack | events | median late ms | p99 late ms | worst late ms |\n| --- | ---: | ---: | ---: | ---: |\n',
);
for (const [name, late] of rows) {
  const at = (share) => late[Math.min(late.length - 1, Math.floor(late.length * share))].toFixed(1);
  process.stdout.write(`| ${name} | ${late.length} | ${at(0.5)} | ${at(0.99)} | ${at(1)} |\n`);
}

/** How late each event of the watched connection was during the attack, in ms, sorted. */
async function lateness(attack) {
  const watched = await connect();
  const attacker = await connect();
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
  attack(attacker);
  await pause(watchMs);
  watched.terminate();
  attacker.terminate();
  return late.sort((a, b) => a - b);
}

async function connect() {
  const socket = new WebSocket(url, { perMessageDeflate: false });
  // A refused attack ends its connection; that is its answer.
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('open', resolve));
  return socket;
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
