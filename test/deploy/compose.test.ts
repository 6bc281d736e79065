import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readSettings } from '../../apps/billing/src/settings.js';
import { configSchema } from '../../apps/gateway/src/config/schema.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

interface Compose {
  services: Record<string, { command?: string[]; ports?: string[]; environment?: Record<string, string> }>;
  configs: Record<string, { content: string }>;
}

describe('docker-compose.yml', () => {
  const compose = parse(readFileSync(join(ROOT, 'docker-compose.yml'), 'utf8'), { merge: true }) as Compose;

  it('starts programs that the build makes', () => {
    for (const { command } of Object.values(compose.services)) {
      if (command?.[0] !== 'node') continue;
      expect([command[1], existsSync(join(ROOT, command[1] ?? ''))]).toEqual([command[1], true]);
    }
  });

  it('holds a configuration that the gateway accepts, with the key it documents', () => {
    const config = configSchema.parse(parse(compose.configs['turnpike']?.content ?? ''));
    const documented = createHash('sha256').update('local-development-only').digest('hex');
    expect(config.keys.map(({ sha256 }) => sha256)).toEqual([documented]);
  });

  it('gives billing an environment that it accepts, and the same services as the gateway', () => {
    const { gateway, billing } = compose.services;
    const settings = readSettings(billing?.environment ?? {});
    expect(settings).toMatchObject({ host: '0.0.0.0', port: 8687, database: { kind: 'postgres' } });
    expect(billing?.environment).toMatchObject(gateway?.environment ?? {});
  });

  it('keeps what Redis accepts', () => {
    expect(compose.services['redis']?.command?.join(' ')).toBe(
      'redis-server --appendonly yes --maxmemory-policy noeviction',
    );
  });

  it('publishes ports on loopback only', () => {
    const ports = Object.values(compose.services).flatMap((service) => service.ports ?? []);
    expect(ports.length).toBeGreaterThan(0);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });
});
