import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { createEngine, type EngineClient } from '@turnpike/inference';
import { CONFIG } from './tokens.js';
import type { Config } from './config/schema.js';

/** One client for each configured engine; models of one engine share its connections. */
@Injectable()
export class Engines implements OnApplicationShutdown {
  readonly #clients: ReadonlyMap<string, EngineClient>;

  constructor(@Inject(CONFIG) config: Config) {
    this.#clients = new Map(
      Object.entries(config.engines).map(([name, { apiKeyEnv, ...engine }]) => {
        const apiKey = apiKeyEnv === undefined ? undefined : process.env[apiKeyEnv];
        return [name, createEngine({ name, apiKey, ...engine })];
      }),
    );
  }

  /** @throws Error for a name that is not configured; configuration is checked at start */
  get(name: string): EngineClient {
    const client = this.#clients.get(name);
    if (client === undefined) throw new Error(`there is no engine '${name}'`);
    return client;
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
  }
}
