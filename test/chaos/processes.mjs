// The processes of a chaos run, each of which can be killed and started again.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MAIN = {
  gateway: join(ROOT, 'dist/apps/gateway/apps/gateway/src/main.js'),
  engine: join(ROOT, 'dist/apps/engine/apps/engine/src/main.js'),
  billing: join(ROOT, 'dist/apps/billing/apps/billing/src/main.js'),
};

/** One process that says when it is ready. */
export class Child {
  #options;
  #process;
  url = '';
  kills = 0;
  /** What it said before it ended by itself, once it had been ready. */
  crashes = [];

  constructor(options) {
    this.#options = options;
  }

  /** Starts it, again if it does not come up: what it needs may be down. */
  async start() {
    for (;;) {
      if (await this.#startOnce()) return;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  #startOnce() {
    const { app, args = [], env = {}, cwd } = this.#options;
    const child = spawn(process.execPath, [MAIN[app], ...args], {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH ?? '', LOG_LEVEL: 'error', ...env },
    });
    this.#process = child;
    return new Promise((resolve) => {
      let text = '';
      let said = '';
      let isReady = false;
      child.stdout.on('data', (chunk) => {
        text += chunk;
        if (!/ready/.test(text)) return;
        this.url = /ready on (http:\/\/[^\s/]+)/.exec(text)?.[1] ?? '';
        isReady = true;
        resolve(true);
      });
      child.stderr.on('data', (chunk) => (said = `${said}${chunk}`.slice(-2_000)));
      child.once('exit', (code, signal) => {
        if (isReady && signal === null) this.crashes.push(`${app} ended with code ${code}: ${said}`);
        resolve(false);
      });
    });
  }

  get pid() {
    return this.#process?.pid;
  }

  async kill(signal = 'SIGKILL') {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
    this.kills++;
  }
}

/** A folder with the configuration of a gateway in it. */
export function gatewayFolder(engineUrl, progressTokens) {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-chaos-'));
  writeFileSync(
    join(folder, 'prices.yaml'),
    'versions: [{ version: chaos, from: "2026-01-01", models: { sim: { input: 1, cachedInput: 0.1, output: 2 } } }]\n',
  );
  writeFileSync(
    join(folder, 'turnpike.yaml'),
    [
      'port: 0',
      `engines: { engine: { url: "${engineUrl}", kind: vllm } }`,
      'models: { sim: { engine: engine, contextTokens: 1000000 } }',
      `billing: { prices: prices.yaml, progressTokens: ${progressTokens} }`,
      '',
    ].join('\n'),
  );
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
