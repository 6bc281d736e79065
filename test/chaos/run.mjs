import { writeFileSync } from 'node:fs';
import { readOptions } from '../bench/options.mjs';
import { runChaos } from './chaos.mjs';

const HELP = `npm run chaos -- [--turns N] [--seed N] [--json FILE]

Runs turns through two gateways, a billing worker, Redis and Postgres, all of which are killed and started again at random,
and compares the ledger with what the engine says it produced. Prints each kill as it happens, and a report. Status 1 if
anything was lost, billed twice or is unexplained.

  --turns N     how many turns (200)
  --seed N      of the random choices (1)
  --json FILE   writes the report as JSON, too
  --help        shows this
`;

const values = readOptions(HELP, { turns: '200', seed: '1', json: undefined });
for (const name of ['turns', 'seed']) {
  if (/^[1-9]\d*$/u.test(values[name])) continue;
  process.stderr.write(`--${name} has to be a whole number above 0, not '${values[name]}'\n`);
  process.exit(2);
}
const report = await runChaos({
  turns: Number(values.turns),
  seed: Number(values.seed),
  say: (line) => void process.stderr.write(`${line}\n`),
});
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, undefined, 2)}\n`);
const { kills, outcomes, cut, lostGateways, details } = report;
const shown = (counts) =>
  Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
process.stdout.write(`killed           ${shown(kills)}\n`);
process.stdout.write(`outcomes         ${shown(outcomes)}\n`);
process.stdout.write(`tokens produced  ${report.produced} (engine), billed ${report.billed} (ledger)\n`);
process.stdout.write(`to the token     ${report.exact} of ${report.responses} responses\n`);
for (const [name, { turns, tokens, most }] of [
  ['cut by clients', cut],
  ['cut by kills', lostGateways],
]) {
  process.stdout.write(
    `${name.padEnd(17)}${turns} responses, ${tokens} tokens not billed, at most ${most} of one\n`,
  );
}
process.stdout.write(
  `                 ${lostGateways.unread} more that were never read, ${lostGateways.inHand} responses in hand at a kill\n`,
);
process.stdout.write(`stored           ${report.stored} responses that their clients were told of\n`);
process.stdout.write(`never ended      ${report.silent} turns\n`);
for (const line of details) process.stdout.write(`  ${line}\n`);
process.stdout.write(
  `turns=${report.turns} lost=${report.lost} double=${report.double} unexplained=${report.unexplained}\n`,
);
process.exitCode = report.lost + report.double + report.unexplained > 0 ? 1 : 0;
