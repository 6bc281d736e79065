// What the content policy costs a turn, and what a slow classifier does to the first token. `npm run bench:safety -- --help`
// explains.
import { createServer } from 'node:http';
import { contextText } from './context.mjs';
import { readOptions } from './options.mjs';
import { cpuNs, startProcesses } from './processes.mjs';
import { median } from './report.mjs';
import { webSocketTransport } from './transports.mjs';

const HELP = `npm run bench:safety -- [options]

Gateways of the same kind in front of one engine, each a process of its own, that differ in their content policy alone. They
are warmed up by the same turns, and take turns: one conversation goes on at each of them, with the same inputs, and who
comes first changes with every turn (A B B A); the first two also change places, and are measured again.

  the rules     the default policy beside none (safety.input: off)
  a classifier  no policy, gate and race, the latter with a classifier that takes its time

Options:
  --turns N          turns of a conversation (100); a quarter with a classifier
  --context N        tokens before them (50000)
  --output N         characters that each turn brings (4000)
  --classifier-ms N  how long the classifier takes (50)
  --ttft-ms LIST     engine's times to the first token, ms, comma-separated (20,100)
  --help
`;

const values = readOptions(HELP, {
  turns: '100',
  context: '50000',
  output: '4000',
  'classifier-ms': '50',
  'ttft-ms': '20,100',
});
const turns = Number(values.turns);
const classifierMs = Number(values['classifier-ms']);
const WARM_UP = 60;

/** Answers every question with "harmless", after a time. Resolves with its URL. */
async function startClassifier() {
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => (body += part));
    request.on('end', () => {
      const results = JSON.parse(body).input.map(() => ({ flagged: false, category_scores: { hate: 0 } }));
      setTimeout(() => response.end(JSON.stringify({ id: 'm', model: 'm', results })), classifierMs);
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  server.unref();
  return `http://127.0.0.1:${server.address().port}/v1`;
}

/** One conversation at each gateway, a turn of each in turn: the turns by name. */
async function sideBySide(gateways, count, contextTokens, seed) {
  const sides = [];
  for (const [name, server] of Object.entries(gateways)) {
    const side = {
      name,
      server,
      transport: await webSocketTransport(server.url),
      turns: [],
      previous: undefined,
    };
    sides.push(side);
  }
  for (let turn = 0; turn <= count; turn++) {
    const text =
      turn === 0
        ? contextText(contextTokens, seed)
        : contextText(1_000, seed + turn).slice(0, Number(values.output));
    const input = [{ role: 'user', content: `${text}\n[sim calls=0 reason=0 tokens=4]` }];
    for (const side of turn % 2 === 0 ? sides : sides.toReversed()) {
      const before = cpuNs(side.server);
      const { id, ttftMs, wallMs } = await side.transport.turn({ input, previous: side.previous });
      side.previous = id;
      // The turn that brings the context is none like the others.
      if (turn > 0) side.turns.push({ ttftMs, wallMs, cpuMs: (cpuNs(side.server) - before) / 1e6 });
    }
  }
  for (const { transport } of sides) transport.close();
  return Object.fromEntries(sides.map((side) => [side.name, side.turns]));
}

/** Turns by policy, in the order in which they were made. */
async function measure(ttftMs, policies, count = turns) {
  const speed = { tps: 100_000, ttftMs, prefillUsPerToken: 0 };
  const processes = await startProcesses({ ...speed, variants: policies });
  try {
    await sideBySide(processes.variants, WARM_UP, 200, 1_000);
    return await sideBySide(processes.variants, count, Number(values.context), 1);
  } finally {
    await processes.stop();
  }
}

function print(title, turnsOf) {
  const lines = Object.entries(turnsOf).map(([name, all]) => {
    const of = (field, digits) => median(all.map((each) => each[field])).toFixed(digits);
    return `| ${name} | ${of('ttftMs', 1)} | ${of('wallMs', 1)} | ${of('cpuMs', 2)} |\n`;
  });
  const head = '| policy | first token ms | turn ms | gateway CPU ms |\n| --- | ---: | ---: | ---: |\n';
  process.stdout.write(`\n${title}\n\n${head}${lines.join('')}`);
}

const none = 'safety: { input: off }';
const first = await measure(0, { none, rules: 'safety: { input: gate }' });
const second = await measure(0, { rules: 'safety: { input: gate }', none });
const both = { none: [...first.none, ...second.none], rules: [...first.rules, ...second.rules] };
/** Of the same turn on both sides: what slows the machine down slows both. */
const ratio = (field) => median(both.rules.map((turn, at) => turn[field] / both.none[at][field])).toFixed(2);
print(
  `the rules, medians of ${both.none.length} turns of ${values.output} characters, engine that answers at once`,
  both,
);
process.stdout.write(
  `\n| ratio | value |\n| --- | ---: |\n| turn_safety_vs_without | ${ratio('wallMs')} |\n` +
    `| cpu_safety_vs_without | ${ratio('cpuMs')} |\n`,
);

const url = await startClassifier();
const asked = (mode) => `safety: { input: ${mode}, classifier: { kind: moderations, url: "${url}" } }`;
for (const ttftMs of values['ttft-ms'].split(',').map(Number)) {
  const policies = { none, gate: asked('gate'), race: asked('race') };
  const rows = await measure(ttftMs, policies, Math.ceil(turns / 4));
  print(
    `a classifier that takes ${classifierMs} ms, engine that takes ${ttftMs} ms to the first token`,
    rows,
  );
}
