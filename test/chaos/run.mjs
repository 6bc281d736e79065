// npm run chaos -- [--turns N] [--seed N] [--json FILE]
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { runChaos } from './chaos.mjs';

const { values } = parseArgs({
  options: {
    turns: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    json: { type: 'string' },
  },
});
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
