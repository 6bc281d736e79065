import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ConfigError } from '../config/load.js';

/** The engine beside this app in `dist`. */
const ENGINE_MAIN = new URL('../../../../../engine/apps/engine/src/main.js', import.meta.url);

/** The scripted engine as a child process, for machines without an inference server. */
export class EngineProcess {
  readonly #child: ChildProcess;
  /** Base URL. */
  readonly url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  /**
   * Starts the engine on a free loopback port and waits until it is ready.
   * @param onExit called when it ends before {@link stop}
   * @throws ConfigError when it ends before it is ready, having said why on stderr
   */
  static start(args: readonly string[], onExit: (code: number | null) => void): Promise<EngineProcess> {
    const child = fork(fileURLToPath(ENGINE_MAIN), ['--port', '0', ...args], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    return new Promise((resolve, reject) => {
      let ready = false;
      child.on('message', (message: { ready?: boolean; url?: string }) => {
        if (message.ready !== true || message.url === undefined) return;
        ready = true;
        resolve(new EngineProcess(child, message.url));
      });
      child.once('error', reject);
      child.once('exit', (code) => {
        if (!ready) reject(new ConfigError('The built-in engine could not start (--sim holds its options).'));
        else onExit(code);
      });
    });
  }

  /** Ends the engine and waits for it. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.removeAllListeners('exit');
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill('SIGTERM');
    await ended;
  }
}
