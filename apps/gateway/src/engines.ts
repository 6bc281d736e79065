import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { createEngine, type EngineClient } from '@turnpike/inference';
import { WatchedEngine, type EngineBoard, type Standing } from '@turnpike/routing';
import type { Config, EngineConfig } from './config/schema.js';
import { log } from './log.js';
import { countOutcome, watchBoard } from './routing/engine-metrics.js';
import { CONFIG } from './tokens.js';

/** One client for each engine, and how each is; models of one engine share its connections. */
@Injectable()
export class Engines implements EngineBoard, OnApplicationShutdown {
  readonly #engines = new Map<string, WatchedEngine>();
  /** Told of an engine that a request has found not as it was known. */
  onDoubt: (name: string) => void = () => undefined;

  constructor(@Inject(CONFIG) config: Config) {
    for (const [name, engine] of Object.entries(config.engines)) this.add(name, engine);
    watchBoard(this);
  }

  /** Takes in an engine that is not in the configuration. */
  add(name: string, engine: EngineConfig): WatchedEngine {
    const watched = new WatchedEngine(clientOf(name, engine), {
      now: () => performance.now(),
      onOutcome: (outcome) => countOutcome(name, outcome),
      onDoubt: () => this.onDoubt(name),
      onCircuit: (circuit) =>
        log[circuit === 'open' ? 'warn' : 'info']({ engine: name, circuit }, 'engine circuit'),
    });
    this.#engines.set(name, watched);
    return watched;
  }

  /** @throws Error for a name that is not known; configuration is checked at start */
  get(name: string): WatchedEngine {
    const engine = this.#engines.get(name);
    if (engine === undefined) throw new Error(`there is no engine '${name}'`);
    return engine;
  }

  /** In the order in which they became known. */
  names(): readonly string[] {
    return [...this.#engines.keys()];
  }

  standing(name: string): Standing {
    return this.get(name).standing;
  }

  load(name: string): number {
    return this.get(name).load;
  }

  waitMs(name: string): number {
    return this.get(name).waitMs;
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#engines.values()].map((engine) => engine.close()));
  }
}

function clientOf(name: string, { apiKeyEnv, offersListed: _, ...engine }: EngineConfig): EngineClient {
  const onApi = (api: string) => log.info({ engine: name, api }, 'engine is known');
  return createEngine({ name, apiKey: keyIn(apiKeyEnv), onApi, ...engine });
}

/** What every request to an engine has among its headers, as its client sends them. */
export function headersFor({ apiKeyEnv, headers }: EngineConfig): Record<string, string> {
  const key = keyIn(apiKeyEnv);
  return { ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...headers };
}

function keyIn(variable: string | undefined): string | undefined {
  return variable === undefined ? undefined : process.env[variable];
}
