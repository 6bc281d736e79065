import { type Command, helpText, parseCommand, UsageError } from './cli.js';
import { type RunningEngine, startEngine, startLlamaEngine } from './engine.js';
import { defaultInstallation, loadNodeLlamaCpp } from './llama/install.js';
import { type EngineSettings, type GgufSettings } from './settings.js';
import { packageVersion } from './version.js';

const BAD_USAGE = 2;

/** An engine, and what it serves, for people. */
type Started = RunningEngine & { readonly serves: string };

/** Starts an engine and prints the line that says that it is ready. */
async function serve(start: () => Promise<Started>): Promise<void> {
  let running: RunningEngine | undefined;
  const end = (): void => void (running?.close() ?? Promise.resolve()).finally(() => process.exit(0));
  process.once('SIGTERM', end);
  // Ctrl-C reaches the whole group: a parent that serves with this engine still needs it, and ends it when it is done.
  if (process.send === undefined) process.once('SIGINT', end);
  else process.on('SIGINT', () => undefined);
  // A parent that dies closes the channel: the engine does not outlive it.
  process.once('disconnect', end);
  const engine = (running = await start());
  process.stdout.write(`engine ready on ${engine.url} (${engine.serves})\n`);
  process.send?.({ ready: true, url: engine.url });
}

async function simulated(settings: EngineSettings): Promise<Started> {
  const engine = await startEngine(settings);
  return { ...engine, serves: `model ${settings.model}, ${settings.tps} tokens/s` };
}

async function gguf(settings: GgufSettings): Promise<Started> {
  const say = (line: string): void => void process.stderr.write(`engine: ${line}\n`);
  const llamaCpp = await loadNodeLlamaCpp(defaultInstallation(say));
  const engine = await startLlamaEngine(settings, llamaCpp);
  const { sequences, contextTokens } = engine.loaded;
  const serves = `model ${settings.model} from ${settings.gguf}, ${sequences} sequences of ${contextTokens} tokens`;
  return { ...engine, serves };
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
  serve(() => (command.kind === 'gguf' ? gguf(command.settings) : simulated(command.settings))).catch(
    (error: unknown) => {
      process.stderr.write(`engine: ${error instanceof Error ? error.message : String(error)}\n`);
      process.exit(1);
    },
  );
}
