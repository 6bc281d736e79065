// Takes the Codex CLI through a tool loop against Turnpike, over WebSocket and over HTTP.
// Codex is 424 MB, so it is installed here, outside of `npm ci`, into .cache/codex (kept between runs).
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const VERSION = '0.171.0';
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const INSTALL = join(ROOT, '.cache/codex');
const CODEX = join(INSTALL, 'node_modules/.bin/codex');
const GATEWAY = join(ROOT, 'dist/apps/gateway/apps/gateway/src/main.js');
/** What the scripted model's harmless command prints. */
const ECHO = 'turnpike-1';
const RUN_MS = 120_000;

if (process.argv.includes('--help')) {
  process.stdout.write(
    'npm run e2e:codex: installs Codex into .cache/codex and runs a tool loop over each transport\n',
  );
  process.exit(0);
}

if (!existsSync(CODEX)) {
  process.stdout.write(`installing @openai/codex ${VERSION} (about 424 MB) ...\n`);
  mkdirSync(INSTALL, { recursive: true });
  execFileSync(
    'npm',
    ['install', '--prefix', INSTALL, '--no-audit', '--no-fund', `@openai/codex@${VERSION}`],
    { stdio: 'inherit' },
  );
}

const gateway = await startGateway();
let failed = 0;
try {
  for (const webSocket of [true, false]) {
    const name = webSocket ? 'Codex over WebSocket' : 'Codex over HTTP';
    const problem = await runCodex(gateway, webSocket);
    process.stdout.write(
      `${problem === undefined ? 'ok  ' : 'FAIL'}  ${name}${problem === undefined ? '' : `: ${problem}`}\n`,
    );
    if (problem !== undefined) failed++;
  }
} finally {
  gateway.child.kill('SIGTERM');
}
process.exit(failed === 0 ? 0 : 1);

function startGateway() {
  const child = spawn(process.execPath, [GATEWAY], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PORT: '0', LOG_LEVEL: 'debug' },
  });
  const state = { child, url: '', log: '' };
  return new Promise((resolve, reject) => {
    const onData = (chunk) => {
      state.log += chunk;
      state.url = /ready on (http:\/\/[^\s/]+)/.exec(state.log)?.[1] ?? '';
      if (state.url) resolve(state);
    };
    child.stdout.on('data', onData);
    child.stderr.on('data', onData);
    child.once('exit', (code) => reject(new Error(`the gateway ended with ${code}:\n${state.log}`)));
  });
}

/** One `codex exec` in a home and a repository of its own. Returns what went wrong, or undefined. */
async function runCodex({ url }, webSocket) {
  const home = mkdtempSync(join(tmpdir(), 'turnpike-codex-'));
  const repository = join(home, 'repository');
  mkdirSync(repository);
  execFileSync('git', ['init', '-q', repository]);
  writeFileSync(
    join(home, 'config.toml'),
    `model = "sim"
model_provider = "turnpike"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.turnpike]
name = "Turnpike"
base_url = "${url}/v1"
wire_api = "responses"
supports_websockets = ${webSocket}
request_max_retries = 0
stream_max_retries = 0
`,
  );
  const from = gateway.log.length;
  const prompt = 'Run a command and tell me what it printed. [sim calls=1 tool=exec_command]';
  const args = [
    'exec',
    '--json',
    '--skip-git-repo-check',
    '--dangerously-bypass-approvals-and-sandbox',
    prompt,
  ];
  const { code, output } = await run(CODEX, args, {
    cwd: repository,
    env: { ...process.env, HOME: home, CODEX_HOME: home },
  });
  rmSync(home, { recursive: true, force: true });
  const turns = gateway.log
    .slice(from)
    .split('\n')
    .filter((line) => line.includes('"msg":"turn ended"'))
    .map((line) => JSON.parse(line));
  if (code !== 0) return `exit code ${code}\n${output}`;
  if (!output.includes(ECHO)) return `the command's output is missing\n${output}`;
  const answer =
    output
      .split('\n')
      .filter((line) => line.includes('agent_message'))
      .at(-1) ?? '';
  if (!answer.includes(ECHO)) return `the answer does not quote the command's output\n${output}`;
  if (turns.length < 2) return `the gateway saw ${turns.length} turns\n${output}`;
  const transport = webSocket ? 'websocket' : 'http';
  if (turns.some((turn) => turn.transport !== transport)) return `not every turn came over ${transport}`;
  return undefined;
}

function run(file, args, options) {
  const child = spawn(file, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], timeout: RUN_MS });
  let output = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (output += chunk));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })));
}
