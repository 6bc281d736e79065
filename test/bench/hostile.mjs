// How much one hostile client delays the events of another connection. `npm run bench:hostile -- --help` explains.
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { WebSocket } from 'ws';
import { ATTACKS } from './attacks.mjs';
import { startProcesses } from './processes.mjs';

const HELP = `npm run bench:hostile -- [--seconds N]

One connection streams a response at 100 tokens/s. Meanwhile another process sends, one after the other, what is known to
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
const processes = await startProcesses({ tps: 100, ttftMs: 0, prefillUsPerToken: 0 });
const url = `${processes.gateway.url.replace('http', 'ws')}/v1/responses`;
const rows = [];
try {
  for (const [index, [name]] of ATTACKS.entries()) rows.push([name, await lateness(index)]);
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
async function lateness(index) {
  const watched = await connect();
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
  await pause(watchMs);
  watched.terminate();
  attacker.kill();
  return late.sort((a, b) => a - b);
}

async function connect() {
  const socket = new WebSocket(url, { perMessageDeflate: false });
  await new Promise((resolve) => socket.once('open', resolve));
  return socket;
}

function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
