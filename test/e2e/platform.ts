import { createHash } from 'node:crypto';
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The built entry points. */
export const MAIN = {
  gateway: join(ROOT, 'dist/apps/gateway/apps/gateway/src/main.js'),
  engine: join(ROOT, 'dist/apps/engine/apps/engine/src/main.js'),
};

/** A built app as a process of its own, as its users run it. */
export class App {
  readonly #child: ChildProcess;
  /** Base URL without a path. */
  readonly url: string;
  /** Everything it wrote to stdout and stderr. */
  readonly output: () => string;
  /** Its working directory, gone when it has ended. */
  readonly folder: string;

  private constructor(child: ChildProcess, url: string, output: () => string, folder: string) {
    this.#child = child;
    this.url = url;
    this.output = output;
    this.folder = folder;
  }

  /**
   * Starts an app and waits until it says that it is ready.
   * @param cwd its working folder, which the caller removes; by default one that goes when it ends
   */
  static start(
    app: keyof typeof MAIN,
    args: readonly string[],
    env: Record<string, string> = {},
    cwd?: string,
  ): Promise<App> {
    if (!existsSync(MAIN[app])) throw new Error(`${MAIN[app]} is missing: run \`npm run build\` first`);
    // Where the app keeps its data unless it is told otherwise: no two share it.
    const folder = cwd ?? mkdtempSync(join(tmpdir(), 'turnpike-app-'));
    const child = spawn(process.execPath, [MAIN[app], ...args], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'] ?? '', LOG_LEVEL: 'debug', ...env },
    });
    if (cwd === undefined) child.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    let text = '';
    return new Promise((resolve, reject) => {
      const onData = (chunk: Buffer) => {
        text += chunk.toString();
        const url = /ready on (http:\/\/[^\s/]+)/.exec(text)?.[1];
        if (url !== undefined) resolve(new App(child, url, () => text, folder));
      };
      child.stdout.on('data', onData);
      child.stderr.on('data', onData);
      child.once('exit', (code) => reject(new Error(`${app} ended with ${code}:\n${text}`)));
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** The exit code, once it has ended. */
  ended(): Promise<number | null> {
    if (!this.running) return Promise.resolve(this.#child.exitCode);
    return new Promise((resolve) => this.#child.once('exit', resolve));
  }

  async stop(): Promise<void> {
    if (!this.running) return;
    this.#child.kill('SIGTERM');
    await this.ended();
  }
}

/** A fast engine: tests are about what is said, not when. */
export const FAST = ['--tps', '100000', '--ttft-ms', '0', '--prefill-us-per-token', '0'];

/** The gateway with its built-in engine, as `npm start` runs it, but for looking for engines of whoever runs the tests. */
export async function startPlatform(
  options: { sim?: readonly string[]; env?: Record<string, string> } = {},
): Promise<App> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
  const config = join(folder, 'turnpike.yaml');
  writeFileSync(config, 'discovery: false');
  const args = ['--config', config, `--sim=${(options.sim ?? FAST).join(' ')}`];
  try {
    return await App.start('gateway', args, { PORT: '0', ...options.env });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The gateway in front of an engine of the test's own. */
export async function startGateway(
  engineUrl: string,
  extra: readonly string[] = [],
): Promise<App & { cleanUp(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
  const config = join(folder, 'turnpike.yaml');
  writeFileSync(
    config,
    [
      'port: 0',
      `engines: { engine: { url: "${engineUrl}", kind: vllm, structuredOutputs: false } }`,
      'models: { sim: { engine: engine, contextTokens: 1000000 } }',
      ...extra,
    ].join('\n'),
  );
  const app = await App.start('gateway', ['--config', config]);
  return Object.assign(app, { cleanUp: () => rmSync(folder, { recursive: true, force: true }) });
}

/** Configuration lines for these keys, each of a tenant of its own name. */
export function keysOf(...names: readonly string[]): string[] {
  const lines = names.map((name) => {
    const sha256 = createHash('sha256').update(name).digest('hex');
    return `  - { name: ${name}, tenant: ${name}, sha256: ${sha256} }`;
  });
  return ['keys:', ...lines];
}
