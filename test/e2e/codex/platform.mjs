// The built apps, as processes of their own.
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startChild } from './child.mjs';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const ENGINE = join(ROOT, 'dist/apps/engine/apps/engine/src/main.js');
const GATEWAY = join(ROOT, 'dist/apps/gateway/apps/gateway/src/main.js');
/** How long a line of the log may take to get here, in ms. */
const LOG_MS = 5_000;

/** The only key that the gateway knows. */
export const KEY = 'turnpike-e2e';
/** A model that Codex has no metadata for, and one out of its catalogue that takes instant steering. */
export const MODELS = { unknown: 'sim', lite: 'gpt-6-sol' };

/** The scripted engine; at 1,000 tokens a second there is time to interrupt an answer. */
export function startEngine() {
  return start([ENGINE, '--port', '0', '--tps', '1000'], tmpdir());
}

/**
 * A gateway in front of an engine, with nothing in memory.
 * @param extra further lines of its configuration
 */
export async function startGateway(engineUrl, extra = []) {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-codex-gateway-'));
  const config = join(folder, 'turnpike.yaml');
  const sha256 = createHash('sha256').update(KEY).digest('hex');
  const lines = [
    'port: 0',
    'log: debug',
    `keys: [{ name: e2e, tenant: e2e, sha256: ${sha256} }]`,
    `engines: { sim: { url: "${engineUrl}" } }`,
    'models:',
    ...Object.values(MODELS).map((name) => `  ${name}: { engine: sim, engineModel: sim }`),
    ...extra,
  ];
  writeFileSync(config, lines.join('\n'));
  const app = await start([GATEWAY, '--config', config], folder);
  return {
    url: app.url,
    /** What it says about its first `count` turns, once it has. */
    async turns(count) {
      for (const end = Date.now() + LOG_MS; app.turns.length < count; await sleep(10)) {
        if (Date.now() > end) throw new Error(`${app.turns.length} turns in the log, not ${count}`);
      }
      return app.turns.slice(0, count);
    },
    async stop() {
      await app.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts an app in `cwd` and waits until it says where it listens. `turns` collects what it logs about them; warnings are shown. */
function start(args, cwd) {
  const child = startChild(process.execPath, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH },
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const turns = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (line.includes('"msg":"turn ended"')) turns.push(JSON.parse(line));
    else if (!/"level":[123]0/.test(line)) process.stderr.write(`${line}\n`);
  });
  const stop = () => {
    child.kill('SIGTERM');
    return ended;
  };
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const url = /ready on (http:\/\/[^\s/]+)/.exec(line)?.[1];
      if (url !== undefined) resolve({ url, turns, stop });
    });
    child.once('exit', (code) => reject(new Error(`${args[0]} ended with ${code}`)));
  });
}
