import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const VERSION = '0.171.0';
/** Outside of `npm ci`, because it is 424 MB, and kept between runs. */
const FOLDER = fileURLToPath(new URL('../../../.cache/codex', import.meta.url));
export const CODEX = join(FOLDER, 'node_modules/.bin/codex');

/** Installs the Codex CLI where it is not there yet. */
export function install() {
  if (existsSync(CODEX)) return;
  process.stdout.write(`installing @openai/codex ${VERSION} (about 424 MB) ...\n`);
  mkdirSync(FOLDER, { recursive: true });
  const args = ['install', '--prefix', FOLDER, '--no-audit', '--no-fund', `@openai/codex@${VERSION}`];
  execFileSync('npm', args, { stdio: 'inherit' });
}
