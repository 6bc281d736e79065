import assert from 'node:assert/strict';
import { startChild } from './child.mjs';
import { CODEX } from './install.mjs';

const RUN_MS = 120_000;
const ARGS = ['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];

/**
 * `codex exec` with one prompt; resolves with its last answer and the commands it ran, and fails when it does.
 * @param resumes whether it goes on with the conversation of the last time
 */
export async function exec({ repository, env }, prompt, resumes = false) {
  const child = startChild(CODEX, [...ARGS, ...(resumes ? ['resume', '--last'] : []), prompt], {
    cwd: repository,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: RUN_MS,
  });
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => (errors += chunk));
  const code = await new Promise((resolve) => child.once('close', resolve));
  assert.equal(code, 0, `codex exec ended with ${code}\n${output}${errors}`);
  const items = output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type === 'item.completed')
    .map(({ item }) => item);
  return {
    answer: items.findLast(({ type }) => type === 'agent_message')?.text ?? '',
    commands: items.filter(({ type }) => type === 'command_execution'),
  };
}
