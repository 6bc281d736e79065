import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from './platform.js';

/** Slow enough to be killed in the middle of an answer, fast enough for a test. */
const SPEED = ['--tps', '400', '--ttft-ms', '0', '--prefill-us-per-token', '0'];

interface EngineState {
  readonly requests: number;
  readonly running: number;
  readonly tokens_generated: number;
}

/** Two built engines that serve one model, and a built gateway in front of them. */
export class Replicas {
  readonly engines: Record<'a' | 'b', App>;
  readonly gateway: App;

  private constructor(engines: Record<'a' | 'b', App>, gateway: App) {
    this.engines = engines;
    this.gateway = gateway;
  }

  /** @param config lines of the gateway's configuration file */
  static async start(config: readonly string[] = []): Promise<Replicas> {
    const [a, b] = await Promise.all([startEngine(), startEngine()]);
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
    const file = join(folder, 'turnpike.yaml');
    const lines = [
      'port: 0',
      `engines: { a: { url: "${a.url}" }, b: { url: "${b.url}" } }`,
      'models: { sim: { engine: [a, b], contextTokens: 1000000 } }',
      ...config,
    ];
    writeFileSync(file, lines.join('\n'));
    const gateway = await App.start('gateway', ['--config', file], { METRICS_PORT: '0' });
    rmSync(folder, { recursive: true, force: true });
    return new Replicas({ a, b }, gateway);
  }

  async state(engine: 'a' | 'b'): Promise<EngineState> {
    return (await (await fetch(`${this.engines[engine].url}/debug/state`)).json()) as EngineState;
  }

  /** The engine that is answering, once one is. */
  async running(): Promise<'a' | 'b'> {
    for (;;) {
      for (const name of ['a', 'b'] as const) if ((await this.state(name)).running > 0) return name;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** The engine whose requests `action` adds to. */
  async answering(action: () => Promise<unknown>): Promise<('a' | 'b')[]> {
    const before = { a: (await this.state('a')).requests, b: (await this.state('b')).requests };
    await action();
    const names = ['a', 'b'] as const;
    const counts = await Promise.all(
      names.map(async (name) => (await this.state(name)).requests - before[name]),
    );
    return names.flatMap((name, index) => Array<'a' | 'b'>(counts[index] ?? 0).fill(name));
  }

  async kill(engine: 'a' | 'b'): Promise<void> {
    this.engines[engine].signal('SIGKILL');
    await this.engines[engine].ended();
  }

  /** Starts a killed engine where it was, and waits until the gateway takes it for well. */
  async revive(engine: 'a' | 'b'): Promise<void> {
    this.engines[engine] = await startEngine(new URL(this.engines[engine].url).port);
    while ((await this.standings())[engine] !== 'ready')
      await new Promise((resolve) => setTimeout(resolve, 50));
  }

  /** How each engine stands, as the gateway says. */
  async standings(): Promise<Record<string, string>> {
    const health = (await (await fetch(`${this.gateway.url}/health`)).json()) as {
      engines: Record<string, string>;
    };
    return health.engines;
  }

  async metrics(): Promise<string> {
    const url = /metrics on (\S+)/.exec(this.gateway.output())?.[1];
    if (url === undefined) throw new Error('there are no metrics');
    return (await fetch(url)).text();
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    await Promise.all([this.engines.a.stop(), this.engines.b.stop()]);
  }
}

function startEngine(port = '0'): Promise<App> {
  return App.start('engine', ['--port', port, '--model', 'sim', '--context', '1000000', ...SPEED]);
}
