import { HELP, parseAdminArguments } from './admin/cli.js';
import { runCommand } from './admin/run-command.js';
import { show } from './admin/show.js';
import { commandFailed } from './command-error.js';
import { loadConfig } from './config/load.js';

async function main(): Promise<void> {
  const { help, json, config, command } = parseAdminArguments(process.argv.slice(2), Date.now());
  if (help || command === undefined) return void process.stdout.write(HELP);
  const answer = await runCommand(loadConfig(config, process.env), command);
  process.stdout.write(json ? `${JSON.stringify(answer, undefined, 2)}\n` : show(answer));
  if ('value' in answer) process.stderr.write('The value is the key. It is not kept, and not shown again.\n');
}

main().catch(commandFailed);
