import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { parse } from 'yaml';
import { configSchema } from '../../apps/gateway/src/config/schema.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface Compose {
  services: Record<string, { command: string[]; ports?: string[] }>;
  configs: Record<string, { content: string }>;
}

describe('docker-compose.yml', () => {
  const compose = parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8')) as Compose;

  it('starts programs that the build makes', () => {
    for (const { command } of Object.values(compose.services)) {
      expect([command[1], existsSync(join(ROOT, command[1] ?? ''))]).toEqual([command[1], true]);
    }
  });

  it('holds a configuration that the gateway accepts, with the key it documents', () => {
    const config = configSchema.parse(parse(compose.configs['turnpike']?.content ?? ''));
    const documented = createHash('sha256').update('local-development-only').digest('hex');
    expect(config.keys.map(({ sha256 }) => sha256)).toEqual([documented]);
  });

  it('publishes ports on loopback only', () => {
    const ports = Object.values(compose.services).flatMap((service) => service.ports ?? []);
    expect(ports.length).toBeGreaterThan(0);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });
});
