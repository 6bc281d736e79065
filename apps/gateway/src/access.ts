import type { BeforeApplicationShutdown, Provider } from '@nestjs/common';
import { Inject } from '@nestjs/common';
import { AccessAdmin, KeyRing } from '@turnpike/access';
import { ConfigError, isLoopback } from './config/load.js';
import type { Config } from './config/schema.js';
import { log } from './log.js';
import type { Stores } from './stores.js';
import { ACCESS_ADMIN, CONFIG, STORES } from './tokens.js';

/** Stops looking for changed keys before the database is closed. */
class KeyRingLifetime implements BeforeApplicationShutdown {
  constructor(@Inject(KeyRing) private readonly keys: KeyRing) {}

  beforeApplicationShutdown(): Promise<void> {
    return this.keys.stop();
  }
}

/** Who may use the server, and what changes that. Without a database there are only the keys of the configuration. */
export const accessProviders: Provider[] = [
  {
    provide: KeyRing,
    inject: [CONFIG, STORES],
    useFactory: async (config: Config, { access }: Stores): Promise<KeyRing> => {
      const keys = new KeyRing(config.keys, {
        source: access,
        onFailure: (error) => log.error({ err: error }, 'keys could not be brought up to date'),
      });
      await keys.start();
      requireKeys(config, keys);
      return keys;
    },
  },
  {
    provide: ACCESS_ADMIN,
    inject: [CONFIG, STORES, KeyRing],
    useFactory: (config: Config, { access }: Stores, keys: KeyRing): AccessAdmin | undefined =>
      access && new AccessAdmin(access, { configured: config.keys, onChange: () => keys.refresh() }),
  },
  KeyRingLifetime,
];

/** @throws ConfigError when everyone on the network could use the server */
export function requireKeys({ host }: Pick<Config, 'host'>, { open }: Pick<KeyRing, 'open'>): void {
  if (!open || isLoopback(host)) return;
  throw new ConfigError(
    `host: ${host} can be reached from other machines, so keys are required: make one (npm run admin -- --help), add keys to the configuration, or bind to 127.0.0.1`,
  );
}
