// A service as a child process that can be ended in any way and started again on the same files.
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** How long a service may take until it answers, in ms; nothing fails before it for being slow. */
const READY_MS = 60_000;
const POLL_MS = 25;
/** Lines that are kept of what it says, for the error when it does not start. */
const KEPT = 4_000;

export class Program {
  #child;
  #text = '';

  /**
   * @param launch `{ command, args, options }` of the process
   * @param answers resolves once the service can be used, and rejects before
   * @param container name of its Docker container, where it runs in one
   */
  constructor({ launch, answers, container }) {
    this.launch = launch;
    this.answers = answers;
    this.container = container;
    // A process that is not stopped must not leave a service behind.
    process.once('exit', () => this.#end('SIGKILL'));
  }

  get running() {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Starts it and waits until it answers. One that ends at once is tried again: it may be tidying up after a kill. */
  async start() {
    if (this.running) return;
    const deadline = Date.now() + READY_MS;
    this.#spawn();
    for (;;) {
      try {
        return await this.answers();
      } catch (thrown) {
        if (Date.now() > deadline) {
          await this.end('SIGKILL');
          throw new Error(`${this.launch.command} does not answer:\n${this.#text}`, { cause: thrown });
        }
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      if (!this.running) this.#spawn();
    }
  }

  /** Ends it by a signal, and waits until it is gone. */
  async end(signal) {
    if (!this.running) return;
    const gone = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#end(signal);
    await gone;
  }

  /** Leaves everything open and answers nothing any more, as a machine that hangs; `end` ends it all the same. */
  pause() {
    if (this.container !== undefined) return void docker('pause', this.container);
    this.#signalAll('SIGSTOP');
  }

  /** Goes on where it was. */
  resume() {
    if (this.container !== undefined) return void docker('unpause', this.container);
    this.#signalAll('SIGCONT');
  }

  /** The process first, and its children then: one that is stopped makes no more of them. */
  #signalAll(signal) {
    if (!this.running) return;
    this.#child.kill(signal);
    for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each))) {
      if (parentOf(name) === this.#child.pid) signalTo(Number(name), signal);
    }
  }

  #spawn() {
    const { command, args, options } = this.launch;
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    const keep = (chunk) => (this.#text = (this.#text + chunk).slice(-KEPT));
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('error', (error) => keep(error.message));
    this.#child = child;
  }

  #end(signal) {
    if (!this.running) return;
    if (this.container === undefined) this.#child.kill(signal);
    else docker('kill', '--signal', signal, this.container);
  }
}

/** Undefined for a process that has ended meanwhile. */
function parentOf(pid) {
  try {
    // The name of the program comes first, in brackets, and may hold anything.
    return Number(
      readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) \S /s, '')
        .split(' ')[0],
    );
  } catch {
    return undefined;
  }
}

function signalTo(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended meanwhile.
  }
}

function docker(...args) {
  spawnSync('docker', args, { stdio: 'ignore' });
}

/** Free a moment ago, which is all that can be known. */
export async function freePort() {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}
