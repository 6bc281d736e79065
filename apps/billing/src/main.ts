import 'reflect-metadata';
import { log } from '@turnpike/telemetry';
import { HELP, readSettings, SettingsError } from './settings.js';
import { startBilling } from './start.js';

async function main(): Promise<void> {
  const [first] = process.argv.slice(2);
  if (first === '--help') return void process.stdout.write(HELP);
  if (first !== undefined) throw new SettingsError(`There is no option '${first}'\n\n${HELP}`);
  const billing = await startBilling(readSettings(process.env));
  process.stdout.write(`billing ready on ${billing.url}\n`);
  let stopping = false;
  const stop = (signal: NodeJS.Signals) => {
    if (stopping) process.exit(1);
    stopping = true;
    log.info({ signal }, 'stopping');
    billing.stop().then(
      () => process.exit(0),
      (thrown: unknown) => {
        log.error({ err: thrown }, 'could not stop cleanly');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}

main().catch((thrown: unknown) => {
  const known = thrown instanceof SettingsError;
  process.stderr.write(`${known ? thrown.message : ((thrown as Error).stack ?? String(thrown))}\n`);
  process.exit(known ? 2 : 1);
});
