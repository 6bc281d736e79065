import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ConfigError, loadConfig } from './load.js';

const EXAMPLE = new URL('../../../../turnpike.example.yaml', import.meta.url);
const MIB = 1024 * 1024;
const SHA256 = '0'.repeat(64);
const KEY = `{ name: laptop, tenant: team-a, sha256: "${SHA256}" }`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-config-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

function load(yaml: string, environment: NodeJS.ProcessEnv = {}) {
  const path = join(folder, 'turnpike.yaml');
  writeFileSync(path, yaml);
  return loadConfig(path, environment);
}

/** The lines of the error, without the headline. */
function faultsOf(yaml: string, environment: NodeJS.ProcessEnv = {}): string[] {
  try {
    load(yaml, environment);
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) throw thrown;
    const [headline, ...lines] = thrown.message.split('\n');
    expect(headline).toBe('The configuration is not valid:');
    return lines.map((line) => line.trim());
  }
  throw new Error('the configuration was taken');
}

describe('metrics', () => {
  it('are served where the environment says', () => {
    const { metrics } = load('metrics: { host: "0.0.0.0", port: 1 }', { METRICS_PORT: '9464' });
    expect(metrics).toEqual({ host: '0.0.0.0', port: 9464 });
  });

  it('need a port that is one', () => {
    expect(faultsOf('', { METRICS_PORT: 'x' })).toEqual([expect.stringMatching(/^metrics\.port: /)]);
  });
});

describe('defaults', () => {
  it('are all there without a file', () => {
    expect(loadConfig(undefined, {})).toEqual({
      host: '127.0.0.1',
      port: 8686,
      websocket: true,
      keys: [],
      sealingKeyFile: 'data/sealing.key',
      allowedOrigins: [],
      engines: {},
      models: {},
      store: { kind: 'sqlite', path: 'data/turnpike.db', retentionDays: 30 },
      images: { fetch: false, maxBytes: 50 * MIB, timeoutMs: 10_000, allowHosts: [] },
      safety: {
        input: 'gate',
        output: 'off',
        packs: ['default'],
        failure: 'closed',
        audit: 'findings',
        auditText: false,
      },
      metrics: { host: '127.0.0.1' },
      billing: {
        journal: 'data/journal',
        journalBytes: 256 * MIB,
        progressTokens: 128,
        holdOutputTokens: 4096,
        budgets: [],
      },
      discovery: { vllm: 8000, sglang: 30_000, llamaServer: 8080, ollama: 11_434, lmStudio: 1234 },
      limits: {
        frameBytes: 16 * MIB,
        incompleteBytes: 1024 * MIB,
        bodyBytes: 64 * MIB,
        connections: 10_000,
        connectionsPerKey: 1_000,
        echoBytes: 256 * 1024,
        queuedBytes: 64 * MIB,
        connectionCacheBytes: 64 * MIB,
        resumeMs: 30_000,
        resumeBytes: 256 * MIB,
        replayBytes: 256 * MIB,
        connectionMs: 3_600_000,
        storeBytes: 512 * MIB,
        backgroundRunning: 16,
        backgroundQueued: 1_000,
        backgroundEventBytes: 32 * MIB,
        sendBufferBytes: MIB,
        sendTimeoutMs: 30_000,
        keepAliveMs: 20_000,
        drainMs: 30_000,
      },
      log: 'info',
    });
  });

  it('of an image rule are those of OpenAI', () => {
    const rule = (text: string) =>
      load(
        `engines: { e: { url: "http://a", images: content_parts } }\nmodels: { m: { engine: e, images: ${text} } }`,
      ).models['m']?.images;
    expect(rule('{ tokens: tiles }')).toEqual({ tokens: 'tiles', base: 85, tile: 170, detail: false });
    expect(rule('{ tokens: patches }')).toEqual({
      tokens: 'patches',
      patch: 32,
      maxPatches: 1536,
      multiplier: 1,
      detail: false,
    });
    expect(rule('{ tokens: fixed, each: 256 }')).toEqual({ tokens: 'fixed', each: 256 });
  });

  it.each(['', '# nothing but a comment\n', '{}'])('are those of an empty file: %j', (yaml) => {
    expect(load(yaml)).toEqual(loadConfig(undefined, {}));
  });

  it('fill in what a file leaves out, at every level', () => {
    const config = load(
      'engines: { local: { url: http://localhost:8000 } }\nmodels: { m: { engine: local } }\nlimits: { drainMs: 0 }',
    );
    expect(config.engines).toEqual({
      local: {
        url: 'http://localhost:8000',
        kind: 'auto',
        headers: {},
        idleTimeoutMs: 600_000,
        structuredOutputs: true,
        images: 'none',
        offersListed: true,
      },
    });
    expect(config.models).toEqual({
      m: { engine: 'local', aliases: [], fallbacks: [], format: 'harmony', contextTokens: 131_072 },
    });
    expect(config.limits).toEqual({ ...loadConfig(undefined, {}).limits, drainMs: 0 });
  });
});

describe('the environment', () => {
  it('wins over the file', () => {
    const config = load(`host: 127.0.0.1\nport: 1\nlog: error\nkeys: [${KEY}]`, {
      PORT: '0',
      HOST: '0.0.0.0',
      LOG_LEVEL: 'debug',
    });
    expect([config.port, config.host, config.log]).toEqual([0, '0.0.0.0', 'debug']);
  });

  it('chooses Postgres, and leaves the other settings of the store as they are', () => {
    const environment = { DATABASE_URL: 'postgres://user:secret@host/db' };
    expect(load('store: { kind: memory, retentionDays: 7 }', environment).store).toMatchObject({
      kind: 'postgres',
      url: 'postgres://user:secret@host/db',
      retentionDays: 7,
    });
    expect(loadConfig(undefined, environment).store).toMatchObject({ kind: 'postgres', retentionDays: 30 });
    expect(load('', { DATABASE_URL: '' }).store.kind).toBe('sqlite');
    expect(faultsOf('', { DATABASE_URL: 'mysql://host/db' })).toEqual([
      expect.stringMatching(/^store\.url: /),
    ]);
  });

  it('does not count where it is empty or about something else', () => {
    expect(load('port: 1', { PORT: '', HOST: '', LOG_LEVEL: '', port: '5', TURNPIKE: 'x' }).port).toBe(1);
  });

  it.each([
    [{ PORT: 'http' }, 'port:'],
    [{ PORT: '70000' }, 'port:'],
    [{ PORT: '80.5' }, 'port:'],
    [{ LOG_LEVEL: 'verbose' }, 'log:'],
  ])('is checked like the file: %j', (environment, start) => {
    const faults = faultsOf('', environment);
    expect(faults).toEqual([expect.stringMatching(new RegExp(`^${start} `))]);
  });
});

describe('faults', () => {
  it.each<[string, string, string[]]>([
    ['an unknown key', 'prot: 1', ['prot: there is no such setting']],
    [
      'two unknown keys',
      'a: 1\nlimits: { b: 2 }',
      ['limits.b: there is no such setting', 'a: there is no such setting'],
    ],
    [
      'an unknown key of an engine',
      'engines: { local: { url: http://a, uri: b } }',
      ['engines.local.uri: there is no such setting'],
    ],
    [
      'an unknown key of a model',
      'engines: { e: { url: http://a } }\nmodels: { m: { engine: e, context: 5 } }',
      ['models.m.context: there is no such setting'],
    ],
    [
      'an unknown key of a key',
      `keys: [{ name: a, tenant: b, sha256: "${SHA256}", key: c }]`,
      ['keys.0.key: there is no such setting'],
    ],
    [
      'a model without its engine',
      'models: { m: { engine: local } }',
      ["models.m.engine: there is no engine 'local' under engines"],
    ],
    [
      'two models without their engines',
      'models: { a: { engine: x }, b: { engine: toString } }',
      [
        "models.a.engine: there is no engine 'x' under engines",
        "models.b.engine: there is no engine 'toString' under engines",
      ],
    ],
    [
      'a model that takes images on an engine that takes none',
      'engines: { e: { url: http://a } }\nmodels: { m: { engine: e, images: { tokens: tiles } } }',
      ["models.m.images: the engine 'e' takes no images: its 'images' is none"],
    ],
    [
      'an unknown key of an image rule',
      'engines: { e: { url: http://a } }\nmodels: { m: { engine: e, images: { tokens: tiles, patch: 5 } } }',
      ['models.m.images.patch: there is no such setting'],
    ],
  ])('names %s', (_, yaml, faults) => {
    expect(faultsOf(yaml).sort()).toEqual([...faults].sort());
  });

  it.each<[string, string]>([
    ['port: "8686"', 'port'],
    ['port: -1', 'port'],
    ['port: 65536', 'port'],
    ['host: 5', 'host'],
    ['websocket: yes please', 'websocket'],
    ['log: loud', 'log'],
    ['keys: {}', 'keys'],
    [`keys: [{ name: "", tenant: b, sha256: "${SHA256}" }]`, 'keys.0.name'],
    [`keys: [{ name: a, sha256: "${SHA256}" }]`, 'keys.0.tenant'],
    ['keys: [{ name: a, tenant: b, sha256: secret }]', 'keys.0.sha256'],
    [`keys: [{ name: a, tenant: b, sha256: "${'A'.repeat(64)}" }]`, 'keys.0.sha256'],
    ['allowedOrigins: https://a.example', 'allowedOrigins'],
    ['engines: { e: {} }', 'engines.e.url'],
    ['engines: { e: { url: localhost } }', 'engines.e.url'],
    ['engines: { e: { url: "ftp://a" } }', 'engines.e.url'],
    ['engines: { e: { url: "http://a:8000/v1" } }', 'engines.e.url'],
    ['engines: { e: { url: "http://a:8000/v1/" } }', 'engines.e.url'],
    ['engines: { e: { url: "http://a", idleTimeoutMs: 5 } }', 'engines.e.idleTimeoutMs'],
    ['models: { m: {} }', 'models.m.engine'],
    ['models: { m: { engine: e, format: alpaca } }', 'models.m.format'],
    ['models: { m: { engine: e, contextTokens: 0 } }', 'models.m.contextTokens'],
    ['models: { m: { engine: e, images: {} } }', 'models.m.images.tokens'],
    ['models: { m: { engine: e, images: { tokens: fixed } } }', 'models.m.images.each'],
    ['models: { m: { engine: e, images: { tokens: patches, patch: 0 } } }', 'models.m.images.patch'],
    ['engines: { e: { url: "http://a", images: yes } }', 'engines.e.images'],
    ['images: { fetch: sometimes }', 'images.fetch'],
    ['images: { timeoutMs: 0 }', 'images.timeoutMs'],
    ['images: { allowHosts: ["http://a"] }', 'images.allowHosts.0'],
    ['images: { allowHosts: ["a/b"] }', 'images.allowHosts.0'],
    ['images: { allowHosts: ["user@a"] }', 'images.allowHosts.0'],
    ['store: { kind: redis }', 'store.kind'],
    ['store: { path: "" }', 'store.path'],
    ['store: { kind: postgres }', 'store.url'],
    ['store: { kind: postgres, url: "http://host/db" }', 'store.url'],
    ['store: { url: "postgres://host/db" }', 'store.url'],
    ['store: { retentionDays: 0 }', 'store.retentionDays'],
    ['limits: { frameBytes: 1023 }', 'limits.frameBytes'],
    ['limits: { bodyBytes: 64MiB }', 'limits.bodyBytes'],
    ['limits: { connections: 0 }', 'limits.connections'],
    ['limits: { connectionsPerKey: 0 }', 'limits.connectionsPerKey'],
    ['limits: { echoBytes: -1 }', 'limits.echoBytes'],
    ['limits: { connectionCacheBytes: -1 }', 'limits.connectionCacheBytes'],
    ['limits: { resumeMs: -1 }', 'limits.resumeMs'],
    ['limits: { replayBytes: -1 }', 'limits.replayBytes'],
    ['limits: { connectionMs: 999 }', 'limits.connectionMs'],
    ['limits: { storeBytes: -1 }', 'limits.storeBytes'],
    ['limits: { sendBufferBytes: 0 }', 'limits.sendBufferBytes'],
    ['limits: { sendTimeoutMs: 0.5 }', 'limits.sendTimeoutMs'],
    ['limits: { keepAliveMs: 99 }', 'limits.keepAliveMs'],
    ['limits: { drainMs: -1 }', 'limits.drainMs'],
  ])('names the value at fault: %s', (yaml, key) => {
    expect(faultsOf(yaml)).toEqual([expect.stringMatching(new RegExp(`^${key.replaceAll('.', '\\.')}: .`))]);
  });

  it('names all of them at once, and shows no hash', () => {
    const faults = faultsOf('port: x\nlog: loud\nkeys: [{ name: a, tenant: b, sha256: not-a-hash }]');
    expect(faults.map((line) => line.split(':')[0]).sort()).toEqual(['keys.0.sha256', 'log', 'port']);
    expect(faults.join()).not.toContain('not-a-hash');
  });

  it('names a file that is missing, is no YAML or holds no mapping', () => {
    const missing = join(folder, 'none.yaml');
    expect(() => loadConfig(missing, {})).toThrow(ConfigError);
    expect(() => loadConfig(missing, {})).toThrow(missing);
    expect(() => load('a: [')).toThrow('cannot be read');
    expect(() => load('port: 1\nport: 2')).toThrow('cannot be read');
    expect(() => load('- a')).toThrow('must hold a mapping');
    expect(() => load('text')).toThrow('must hold a mapping');
  });
});

it('keys may use the server for responses, and for more where it says so', () => {
  expect(load(`host: 0.0.0.0\nkeys: [${KEY}]`).keys).toEqual([
    { name: 'laptop', tenant: 'team-a', sha256: SHA256, scopes: ['inference'] },
  ]);
});

describe('turnpike.example.yaml', () => {
  const text = readFileSync(EXAMPLE, 'utf8');
  /** With the key that is commented out there. */
  const whole = text.replace('keys: []', 'keys:').replaceAll(/^#(?= {2}(?:-| {2}\S))/gm, '');

  it('can be started with as it is, and shows the defaults', () => {
    const { engines, models, ...config } = load(text);
    const defaults = loadConfig(undefined, {});
    expect({ ...config, engines: {}, models: {} }).toEqual(defaults);
    expect(Object.keys(engines)).toEqual(['local']);
    expect(models['gpt-oss-20b']).toMatchObject({ format: 'harmony', contextTokens: 131_072 });
  });

  it('leaves no setting out', () => {
    const config = load(whole);
    expect(config.keys).toHaveLength(1);
    expect(config).toEqual(parse(whole));
  });
});
