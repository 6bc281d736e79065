import { spawn } from 'node:child_process';

/** Starts a process that ends when this one does. */
export function startChild(file, args, options) {
  const child = spawn(file, args, options);
  const kill = () => child.kill();
  process.on('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  return child;
}
