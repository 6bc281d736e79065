// How long a continuation takes when its chain is in memory, and when it has to be read. `npm run bench:store -- --help`.
import { readOptions } from './options.mjs';
import { startProcesses } from './processes.mjs';

const HELP = `npm run bench:store -- [options]

Continues chains of several lengths over HTTP by previous_response_id:
  warm   the gateway made the response itself and has it in memory
  cold   the gateway has just been started, and reads the chain from the store

Options:
  --turns LIST    lengths of chains, comma-separated (10,200,2000)
  --rounds N      measurements of each (5)
  --help

The store is a SQLite file, or Postgres where DATABASE_URL names one. Printed are medians; the engine's own time, which
is simulated, is next to nothing. Cold is a new gateway's second request: the first is another conversation.
`;

const values = readOptions(HELP, { turns: '10,200,2000', rounds: '5' });

const lengths = values.turns.split(',').map(Number);
const rounds = Number(values.rounds);
/** What a user says in a turn: about 100 tokens. */
const QUESTION = 'src/turns/pipeline.ts: 42 lines checked, nothing to report. '.repeat(7);

const processes = await startProcesses({
  tps: 1_000_000,
  ttftMs: 0,
  prefillUsPerToken: 0,
  databaseUrl: process.env.DATABASE_URL ?? '',
});

async function turn(input, previous, store = true) {
  const startedAt = performance.now();
  const answer = await fetch(`${processes.gateway.url}/v1/responses`, {
    method: 'POST',
    body: JSON.stringify({ model: 'sim', input, store, previous_response_id: previous }),
  });
  const { id, usage, error } = await answer.json();
  if (error) throw new Error(error.message);
  return { id, tokens: usage.input_tokens, ms: performance.now() - startedAt };
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

try {
  const rows = [];
  for (const length of lengths) {
    let last;
    for (let made = 0; made < length; made++) last = await turn(`${made} ${QUESTION}`, last?.id);
    const warm = [];
    const cold = [];
    for (let round = 0; round < rounds; round++) warm.push(await turn('and now?', last.id, false));
    for (let round = 0; round < rounds; round++) {
      await processes.restartGateway();
      await turn('hello', undefined, false);
      cold.push(await turn('and now?', last.id, false));
    }
    const [warmMs, coldMs] = [warm, cold].map((each) => median(each.map(({ ms }) => ms)));
    rows.push([length, warm[0].tokens, warmMs.toFixed(1), coldMs.toFixed(1)]);
    process.stderr.write(`${length} turns done\n`);
  }
  console.log('| turns | tokens | warm ms | cold ms |\n| ---: | ---: | ---: | ---: |');
  for (const row of rows) console.log(`| ${row.map((each) => each.toLocaleString('en')).join(' | ')} |`);
} finally {
  await processes.stop();
}
