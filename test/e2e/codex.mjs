// Takes the Codex CLI through what it does with Turnpike: one line a scenario. Outside of `npm test`, because Codex has to
// be installed first and takes a few seconds each time.
import { install } from './codex/install.mjs';
import { startEngine } from './codex/platform.mjs';
import * as compaction from './codex/scenarios/compaction.mjs';
import * as interrupting from './codex/scenarios/interrupting.mjs';
import * as reconnecting from './codex/scenarios/reconnecting.mjs';
import { resuming } from './codex/scenarios/resuming.mjs';
import * as toolLoop from './codex/scenarios/tool-loop.mjs';
import { warmUp } from './codex/scenarios/warm-up.mjs';

const SCENARIOS = [
  warmUp,
  toolLoop.overWebSocket,
  toolLoop.overHttp,
  toolLoop.fallback,
  interrupting.steering,
  interrupting.escape,
  compaction.onRequest,
  compaction.automatic,
  compaction.midTurn,
  compaction.local,
  reconnecting.betweenTurns,
  reconnecting.midAnswer,
  reconnecting.midCall,
  reconnecting.behindCall,
  resuming,
];

const wanted = process.argv.slice(2);
if (wanted.includes('--help')) {
  process.stdout.write(
    'npm run e2e:codex [-- WORD ...]: the scenarios whose names hold one of the words, or all\n',
  );
  process.exit(0);
}

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
install();
const engine = await startEngine();
let failed = 0;
for (const { name, run } of SCENARIOS) {
  if (wanted.length > 0 && !wanted.some((word) => name.includes(word))) continue;
  try {
    process.stdout.write(`ok    ${name}: ${await run(engine)}\n`);
  } catch (error) {
    failed++;
    process.stdout.write(`FAIL  ${name}: ${error.message}\n`);
  }
}
await engine.stop();
process.exit(failed === 0 ? 0 : 1);
