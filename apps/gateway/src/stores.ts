import type { OnApplicationShutdown, Provider } from '@nestjs/common';
import { MemoryResponseStore, type ResponseStore } from '@turnpike/conversation';
import {
  CachedResponseStore,
  openDatabase,
  SqlResponseStore,
  Sweeper,
  type Codecs,
  type DatabaseTarget,
} from '@turnpike/storage';
import { ConfigError } from './config/load.js';
import type { Config, StoreConfig } from './config/schema.js';
import { log } from './log.js';
import type { StageList } from './stages.js';
import { CONFIG, STAGE_LIST, STORE } from './tokens.js';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Where `store: true` responses are kept, as the configuration says. */
export const storeProvider: Provider = {
  provide: STORE,
  inject: [CONFIG, STAGE_LIST],
  useFactory: ({ store, limits }: Config, stages: StageList): ResponseStore | Promise<ResponseStore> => {
    const target = targetOf(store);
    if (target === undefined) return new MemoryResponseStore(limits.storeBytes);
    return openStore(target, store.retentionDays, limits.storeBytes, codecsOf(stages));
  },
};

/** A database that is closed when the application ends. */
class DurableStore extends CachedResponseStore implements OnApplicationShutdown {
  readonly #close: () => Promise<void>;

  constructor(store: SqlResponseStore, budget: number, close: () => Promise<void>) {
    super(store, {
      budget,
      onFailure: ({ operation, responseId, error }) =>
        log.error({ err: shown(error), operation, response: responseId }, 'store failed'),
    });
    this.#close = close;
  }

  onApplicationShutdown(): Promise<void> {
    return this.#close();
  }
}

async function openStore(
  target: DatabaseTarget,
  retentionDays: number,
  budget: number,
  codecs: Codecs,
): Promise<ResponseStore> {
  const db = await openDatabase(target, (error) =>
    log.warn({ err: shown(error) }, 'database connection lost'),
  ).catch((thrown: unknown) => {
    throw new ConfigError(`The store cannot be opened: ${shown(thrown).message}`);
  });
  const store = new SqlResponseStore(db, { codecs, retentionMs: retentionDays * DAY_MS });
  const sweeper = new Sweeper(store, (error) => log.error({ err: shown(error) }, 'sweep failed'));
  return new DurableStore(store, budget, async () => {
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

/** What a log may say of a database's error: its details can be a whole row, and a row is what somebody said. */
function shown(thrown: unknown): { code: unknown; message: string } {
  // A refused connection is several errors in one that says nothing, one for each address of a name.
  const error = thrown instanceof AggregateError ? (thrown.errors[0] as unknown) : thrown;
  if (!(error instanceof Error)) return { code: undefined, message: String(error) };
  return { code: 'code' in error ? error.code : undefined, message: error.message };
}
