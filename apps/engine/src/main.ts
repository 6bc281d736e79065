import { type Command, helpText, parseCommand, UsageError } from './cli.js';
import { type RunningEngine, startEngine } from './engine.js';
import { type EngineSettings } from './settings.js';
import { packageVersion } from './version.js';

const BAD_USAGE = 2;

async function serve(settings: EngineSettings): Promise<void> {
  let running: RunningEngine | undefined;
  const end = (): void => void (running?.close() ?? Promise.resolve()).finally(() => process.exit(0));
  process.once('SIGTERM', end);
  // Ctrl-C reaches the whole group: a parent that serves with this engine still needs it, and ends it when it is done.
  if (process.send === undefined) process.once('SIGINT', end);
  else process.on('SIGINT', () => undefined);
  // A parent that dies closes the channel: the engine does not outlive it.
  process.once('disconnect', end);
  const engine = (running = await startEngine(settings));
  process.stdout.write(`engine ready on ${engine.url} (model ${settings.model}, ${settings.tps} tokens/s)\n`);
  process.send?.({ ready: true, url: engine.url });
}

function readCommand(): Command {
  try {
    return parseCommand(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`engine: ${error.message}\n`);
    process.exit(BAD_USAGE);
  }
}

const command = readCommand();
if (command.kind === 'help') process.stdout.write(helpText());
else if (command.kind === 'version') process.stdout.write(`${packageVersion()}\n`);
else {
  serve(command.settings).catch((error: unknown) => {
    process.stderr.write(`engine: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
}
