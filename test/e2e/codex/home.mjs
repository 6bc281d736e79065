import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CODEX } from './install.mjs';
import { KEY, MODELS } from './platform.mjs';

/** Turnpike as a provider of its own. */
export const ownProvider = {
  /**
   * @param top further settings
   * @param provider further settings of the provider; by default it has WebSockets
   */
  config: (url, { top = [], provider = ['supports_websockets = true'] } = {}) => [
    `model = "${MODELS.unknown}"`,
    'model_provider = "turnpike"',
    ...top,
    '[model_providers.turnpike]',
    'name = "Turnpike"',
    `base_url = "${url}/v1"`,
    'env_key = "TURNPIKE_API_KEY"',
    'wire_api = "responses"',
    ...provider,
  ],
  logsIn: false,
};

/** Turnpike in the place of OpenAI, with a model that Codex knows. */
export const builtInProvider = {
  config: (url, { top = [] } = {}) => [`model = "${MODELS.lite}"`, `openai_base_url = "${url}/v1"`, ...top],
  logsIn: true,
};

/** A home of Codex's own, with a repository to work in. */
export function makeHome(provider, url, settings) {
  const path = mkdtempSync(join(tmpdir(), 'turnpike-codex-'));
  const repository = join(path, 'repository');
  mkdirSync(repository);
  execFileSync('git', ['init', '-q', repository]);
  // Nothing is to leave this machine.
  const lines = ['check_for_update_on_startup = false', ...provider.config(url, settings)];
  writeFileSync(join(path, 'config.toml'), [...lines, '[analytics]', 'enabled = false', ''].join('\n'));
  const env = { PATH: process.env.PATH, HOME: path, CODEX_HOME: path };
  if (provider.logsIn) execFileSync(CODEX, ['login', '--with-api-key'], { env, input: KEY, stdio: 'pipe' });
  else env.TURNPIKE_API_KEY = KEY;
  return { repository, env, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) };
}
