// The processes of a benchmark: each part on its own, as in real life, so that CPU can be told apart.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ENGINE = join(ROOT, 'dist/apps/engine/apps/engine/src/main.js');
const GATEWAY = join(ROOT, 'dist/apps/gateway/apps/gateway/src/main.js');
const BILLING = join(ROOT, 'dist/apps/billing/apps/billing/src/main.js');
const FLOOR = join(ROOT, 'test/bench/floor.mjs');

/** Clock ticks a second in /proc/PID/stat; 100 on every Linux that Node runs on. */
const TICKS = 100;

/**
 * Starts a process and waits for the line of its stdout that holds `ready`; resolves with the URL in that line. It ends
 * with this one. `turns` collects what it logs about turns.
 */
function start(args, ready, env = {}) {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...process.env, ...env },
  });
  const turns = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (line.includes('"msg":"turn ended"')) turns.push(JSON.parse(line));
    else process.stderr.write(`${line}\n`);
  });
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
      const line = text.split('\n').find((each) => each.includes(ready) && /http:\/\/\S+/.test(each));
      if (line) resolve({ child, turns, url: /http:\/\/[^\s/]+/.exec(line)[0] });
    });
    child.once('exit', (code) => reject(new Error(`${args[0]} ended with ${code} before it was ready`)));
  });
}

/** Resolves once it has ended. */
function end({ child }, signal) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  return ended;
}

/**
 * Engine, gateway and floor, connected; `stop()` ends them all. The store is a file of the benchmark's own unless
 * `databaseUrl` names a Postgres database.
 * @param variants more gateways by name, each with a line of configuration of its own
 */
export async function startProcesses({
  tps,
  ttftMs,
  prefillUsPerToken,
  log = 'warn',
  databaseUrl = '',
  variants = {},
}) {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-'));
  const engine = await start(
    [
      ENGINE,
      '--port',
      '0',
      '--model',
      'sim',
      '--context',
      '1000000',
      '--tps',
      String(tps),
      '--ttft-ms',
      String(ttftMs),
      '--prefill-us-per-token',
      String(prefillUsPerToken),
    ],
    'engine ready',
  );
  const configOf = (name, level, ...extra) => {
    const config = join(folder, `${name}.yaml`);
    const lines = [
      'port: 0',
      `engines: { sim: { url: "${engine.url}" } }`,
      'models: { sim: { engine: sim, contextTokens: 1000000 } }',
      `store: { path: "${join(folder, `${name}.db`)}" }`,
      `billing: { journal: "${join(folder, `${name}-journal`)}" }`,
      `sealingKeyFile: "${join(folder, 'sealing.key')}"`,
      // A plain gateway does not recognise a conversation that is sent whole.
      'limits: { replayBytes: 0 }',
      `log: ${level}`,
      ...extra,
    ];
    writeFileSync(config, lines.join('\n'));
    return config;
  };
  const startGateway = (config, services = { DATABASE_URL: databaseUrl, REDIS_URL: '' }) =>
    start([GATEWAY, '--config', config], 'turnpike ready', {
      PORT: '',
      HOST: '',
      LOG_LEVEL: '',
      ...services,
    });
  const more = [];
  const config = configOf('turnpike', log);
  const gateway = await startGateway(config);
  const others = {};
  for (const [name, line] of Object.entries(variants))
    others[name] = await startGateway(configOf(name, log, line));
  const floor = await start([FLOOR, engine.url], 'floor ready');
  return {
    engine,
    gateway,
    variants: others,
    floor,
    /** Another one on the same store, with nothing in memory. */
    async restartGateway() {
      await end(this.gateway, 'SIGTERM');
      this.gateway = await startGateway(config);
    },
    /**
     * A gateway whose usage goes through a queue to a worker and on into a ledger.
     * @param services the URLs of both, `{ REDIS_URL, DATABASE_URL }`
     */
    async startQueued(name, services) {
      more.push(await start([BILLING], 'billing ready', { PORT: '0', LOG_LEVEL: 'silent', ...services }));
      const queued = await startGateway(configOf(name, 'silent'), services);
      more.push(queued);
      return queued;
    },
    async stop() {
      await Promise.all([
        // At once: those that have lost their services would wait for them.
        ...more.map((each) => end(each, 'SIGKILL')),
        ...[this.gateway, ...Object.values(others), floor, engine].map((each) => end(each, 'SIGTERM')),
      ]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** CPU time a process has used so far, user and system, in ms. Linux only; NaN elsewhere. */
export function cpuMs({ child }) {
  try {
    const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return ((Number(fields[11]) + Number(fields[12])) * 1000) / TICKS;
  } catch {
    return Number.NaN;
  }
}

/** The same in ns and more exactly, by what the scheduler says of each thread. Linux only; NaN elsewhere. */
export function cpuNs({ child }) {
  const tasks = `/proc/${child.pid}/task`;
  try {
    const used = (task) => Number(readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')[0]);
    return readdirSync(tasks).reduce((sum, task) => sum + used(task), 0);
  } catch {
    return Number.NaN;
  }
}
