import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { HELP, parseArguments } from './cli.js';
import { ConfigError, loadConfig } from './config/load.js';
import { servesSim, startGateway } from './start.js';

/** `package.json` is five levels above the built file. */
function version(): string {
  const url = new URL('../../../../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(url, 'utf8')) as { version: string }).version;
}

async function main(): Promise<void> {
  const args = parseArguments(process.argv.slice(2));
  if (args.help) return void process.stdout.write(HELP);
  if (args.version) return void process.stdout.write(`${version()}\n`);
  const config = loadConfig(args.config, process.env);
  if (args.sim.length > 0 && !servesSim(config)) {
    throw new ConfigError(
      '--sim is for the built-in model, which is not started: there are engines or models in the configuration',
    );
  }
  await startGateway(config, args.sim);
}

main().catch((thrown: unknown) => {
  const text = thrown instanceof ConfigError ? thrown.message : ((thrown as Error).stack ?? String(thrown));
  process.stderr.write(`${text}\n`);
  process.exit(thrown instanceof ConfigError ? 2 : 1);
});
