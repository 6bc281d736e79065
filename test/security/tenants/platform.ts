import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, FAST, keysOf } from '../../e2e/platform.js';

/** A gateway with its built-in engine, which takes images, and a key for each of these tenants. */
export async function startFor(tenants: readonly string[], lines: readonly string[]): Promise<App> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-tenants-'));
  const config = join(folder, 'turnpike.yaml');
  writeFileSync(config, [...keysOf(...tenants), 'discovery: false', ...lines].join('\n'));
  const sim = [...FAST, '--slots', '512'].join(' ');
  const app = await App.start('gateway', ['--config', config, `--sim=${sim}`], { PORT: '0' });
  rmSync(folder, { recursive: true });
  return app;
}
