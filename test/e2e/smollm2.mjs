// Takes a real model, run by llama.cpp, through what matters of it: a few lines each scenario. Outside of `npm test`, because
// the model and llama.cpp have to be fetched first; nothing is skipped when they cannot be.
import { fetchModel } from '../../scripts/smollm2/fetch.mjs';
import { startPlatform } from '../../scripts/smollm2/platform.mjs';
import { leaving, seeds, vocabulary } from './smollm2/engine.mjs';
import { answer, sideBySide, toolLoop } from './smollm2/turns.mjs';

const SCENARIOS = {
  'a real answer': answer,
  'a tool loop of five steps, and a fork': toolLoop,
  'conversations side by side': sideBySide,
  'the vocabulary of the gateway is that of llama.cpp': vocabulary,
  'seeded sampling': seeds,
  'a client that leaves': leaving,
};

const print = (line) => process.stdout.write(`${line}\n`);

async function main() {
  const gguf = await fetchModel();
  print('starting the engine and the gateway ...');
  const settings = { port: 0, log: 'warn', store: { kind: 'memory' } };
  const platform = await startPlatform({ gguf, settings });
  let failed = 0;
  try {
    for (const [name, run] of Object.entries(SCENARIOS)) {
      try {
        await run({ ...platform, gguf }, print);
        print(`ok    ${name}`);
      } catch (error) {
        failed++;
        print(`FAIL  ${name}: ${error.message}`);
      }
    }
  } finally {
    await platform.stop();
  }
  return failed === 0 ? 0 : 1;
}

main().then(
  (code) => process.exit(code),
  (error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  },
);
