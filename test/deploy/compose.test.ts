import { describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { readSettings } from '../../apps/billing/src/settings.js';
import { configSchema } from '../../apps/gateway/src/config/schema.js';
import { configText, copiedByDockerfile, readCompose, ROOT, type Dashboard } from './compose.js';

const compose = readCompose();
const services = Object.entries(compose.services);
const ours = services.filter(([, { build }]) => build !== undefined);

describe('docker-compose.yml', () => {
  it('is what the Compose specification allows', () => {
    const schema = JSON.parse(readFileSync(join(ROOT, 'test/deploy/compose-spec.json'), 'utf8')) as object;
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
    validate(compose);
    expect(validate.errors).toBeNull();
    validate({ services: { gateway: { image: 'turnpike', comand: ['node'] } } });
    expect(validate.errors?.[0]?.params).toEqual({ unevaluatedProperty: 'comand' });
  });

  it('names only services, volumes and configs that there are', () => {
    for (const [name, { depends_on = {}, volumes = [], configs = [] }] of services) {
      for (const other of Object.keys(depends_on)) {
        expect([name, other, compose.services[other]?.healthcheck !== undefined]).toEqual([
          name,
          other,
          true,
        ]);
      }
      const mounted = volumes.map((volume) => volume.split(':', 1)[0]);
      expect(Object.keys(compose.volumes)).toEqual(expect.arrayContaining(mounted));
      for (const { source } of configs) expect(configText(compose, source)).not.toBe('');
    }
  });

  it('starts the platform with the scripted engine, and the rest by profile', () => {
    const started = services.filter(([, { profiles }]) => profiles === undefined).map(([name]) => name);
    expect(started).toEqual(['gateway', 'billing', 'engine', 'postgres', 'redis']);
    expect(ours.map(([name]) => name)).toEqual(['gateway', 'billing', 'engine']);
    const profiles = services.flatMap(([, service]) => service.profiles ?? []);
    expect(profiles).toEqual(['vllm', 'llama-cpp', 'metrics', 'metrics']);
    for (const [name, { healthcheck }] of services)
      expect([name, healthcheck?.test[0]]).toEqual([name, 'CMD']);
  });

  it('starts programs that the build makes and the image holds, as a user without rights', () => {
    const copied = copiedByDockerfile();
    expect(copied).toEqual(expect.arrayContaining(['package.json', 'node_modules', 'dist']));
    for (const path of copied) expect([path, existsSync(join(ROOT, path))]).toEqual([path, true]);
    for (const [name, { command, image }] of ours) {
      expect([name, image, command?.[0]]).toEqual([name, 'turnpike', 'node']);
      expect([command?.[1], existsSync(join(ROOT, command?.[1] ?? ''))]).toEqual([command?.[1], true]);
      expect(command?.[1]).toMatch(/^dist\//);
    }
    const lines = readFileSync(join(ROOT, 'Dockerfile'), 'utf8').split('\n');
    expect(lines.filter((line) => line.startsWith('FROM '))).toHaveLength(2);
    expect(lines.at(lines.lastIndexOf('USER node'))).toBe('USER node');
  });

  it('holds a configuration that the gateway accepts, with the key it documents', () => {
    const config = configSchema.parse(parse(configText(compose, 'turnpike')));
    const documented = createHash('sha256').update('local-development-only').digest('hex');
    expect(config.keys.map(({ sha256 }) => sha256)).toEqual([documented]);
    const hosts = Object.values(config.engines).map(({ url }) => new URL(url).hostname);
    expect(Object.keys(compose.services)).toEqual(expect.arrayContaining(hosts));
    expect(copiedByDockerfile()).toContain(config.billing.prices);
  });

  it('gives billing an environment that it accepts, and the same services as the gateway', () => {
    const { gateway, billing } = compose.services;
    const settings = readSettings(billing?.environment ?? {});
    expect(settings).toMatchObject({ host: '0.0.0.0', port: 8687, database: { kind: 'postgres' } });
    expect(billing?.environment).toMatchObject(gateway?.environment ?? {});
  });

  it('keeps what Redis accepts, and the journal', () => {
    expect(compose.services['redis']?.command?.join(' ')).toBe(
      'redis-server --appendonly yes --maxmemory-policy noeviction',
    );
    expect(compose.services['gateway']?.volumes).toEqual(['data:/app/data']);
  });

  it('publishes ports on loopback only', () => {
    const ports = services.flatMap(([, service]) => service.ports ?? []);
    expect(ports.length).toBeGreaterThan(0);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  it('reads the metrics of the ports that the services open', () => {
    const { scrape_configs } = parse(configText(compose, 'prometheus')) as {
      scrape_configs: { job_name: string; dns_sd_configs: { names: string[]; port: number }[] }[];
    };
    const read = scrape_configs.map((job) => [job.job_name, job.dns_sd_configs[0]?.port]);
    const gateway = configSchema.parse(parse(configText(compose, 'turnpike'))).metrics.port;
    const billing = readSettings(compose.services['billing']?.environment ?? {}).metrics?.port;
    expect(read).toEqual([
      ['gateway', gateway],
      ['billing', billing],
    ]);
  });

  it('shows Grafana a dashboard that reads the Prometheus it is told of, panel beside panel', () => {
    const { datasources } = parse(configText(compose, 'grafana-datasource')) as {
      datasources: { uid: string; url: string }[];
    };
    expect(datasources.map(({ url }) => new URL(url).host)).toEqual(['prometheus:9090']);
    const { panels } = JSON.parse(configText(compose, 'dashboard')) as Dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const read = new Set(
      panels.flatMap(({ targets = [] }) => targets.map(({ datasource }) => datasource.uid)),
    );
    expect([...read]).toEqual(datasources.map(({ uid }) => uid));
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...panels.map(({ gridPos }) => gridPos.x + gridPos.w))).toBe(24);
  });
});
