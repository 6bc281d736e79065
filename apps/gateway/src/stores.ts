import type { OnApplicationShutdown, Provider } from '@nestjs/common';
import { MemoryBackgroundJobs, type BackgroundJobs } from '@turnpike/background';
import { MemoryResponseStore, type ResponseStore } from '@turnpike/conversation';
import {
  CachedResponseStore,
  openDatabase,
  SqlBackgroundJobs,
  SqlResponseStore,
  Sweeper,
  type Codecs,
  type DatabaseTarget,
} from '@turnpike/storage';
import { ConfigError } from './config/load.js';
import type { Config, StoreConfig } from './config/schema.js';
import { log, shown } from './log.js';
import type { StageList } from './stages.js';
import { BACKGROUND_JOBS, CONFIG, STAGE_LIST, STORE, STORES } from './tokens.js';

/** How long a gateway may not be heard of before the background responses that it makes are given up, in ms. */
const LEASE_MS = 20_000;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Where `store: true` responses are kept, as the configuration says, and what is made of them in the background. */
export const storeProviders: Provider[] = [
  {
    provide: STORES,
    inject: [CONFIG, STAGE_LIST],
    useFactory: ({ store, limits }: Config, stages: StageList): Stores | Promise<Stores> => {
      const target = targetOf(store);
      if (target !== undefined) {
        return openStores(target, store.retentionDays, limits.storeBytes, codecsOf(stages));
      }
      const responses = new MemoryResponseStore(limits.storeBytes);
      return new Stores(responses, new MemoryBackgroundJobs(responses, limits.storeBytes));
    },
  },
  { provide: STORE, inject: [STORES], useFactory: ({ responses }: Stores) => responses },
  { provide: BACKGROUND_JOBS, inject: [STORES], useFactory: ({ backgroundJobs }: Stores) => backgroundJobs },
];

/** What lies in one database, which is closed when the application ends. */
class Stores implements OnApplicationShutdown {
  constructor(
    readonly responses: ResponseStore,
    readonly backgroundJobs: BackgroundJobs,
    private readonly close: () => Promise<void> = () => Promise.resolve(),
  ) {}

  onApplicationShutdown(): Promise<void> {
    return this.close();
  }
}

async function openStores(
  target: DatabaseTarget,
  retentionDays: number,
  budget: number,
  codecs: Codecs,
): Promise<Stores> {
  const db = await openDatabase(target, (error) =>
    log.warn({ err: shown(error) }, 'database connection lost'),
  ).catch((thrown: unknown) => {
    throw new ConfigError(`The store cannot be opened: ${shown(thrown).message}`);
  });
  const retentionMs = retentionDays * DAY_MS;
  const store = new SqlResponseStore(db, { codecs, retentionMs });
  const responses = new CachedResponseStore(store, {
    budget,
    onFailure: ({ operation, responseId, error }) =>
      log.error({ err: shown(error), operation, response: responseId }, 'store failed'),
  });
  const jobs = new SqlBackgroundJobs(db, responses, { kind: target.kind, leaseMs: LEASE_MS, retentionMs });
  const sweep = async () => (await store.sweep()) + (await jobs.sweep());
  const sweeper = new Sweeper({ sweep }, (error) => log.error({ err: shown(error) }, 'sweep failed'));
  return new Stores(responses, jobs, async () => {
    await sweeper.stop();
    await db.destroy();
  });
}

function targetOf({ kind, path, url }: StoreConfig): DatabaseTarget | undefined {
  if (kind === 'sqlite') return { kind, path };
  return kind === 'postgres' && url !== undefined ? { kind, url } : undefined;
}

/** A stage of a user's own is kept like ours when it has a codec. */
function codecsOf({ admission, preparation }: StageList): Codecs {
  return new Map(
    [...admission, ...preparation].flatMap(({ token, codec }) =>
      codec === undefined ? [] : [[token.name, codec] as const],
    ),
  );
}
