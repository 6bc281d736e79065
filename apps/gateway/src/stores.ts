import type { OnApplicationShutdown, Provider } from '@nestjs/common';
import {
  MemoryConversationStore,
  MemoryResponseStore,
  type ConversationStore,
  type ResponseStore,
} from '@turnpike/conversation';
import {
  CachedResponseStore,
  openDatabase,
  SqlConversationStore,
  SqlResponseStore,
  Sweeper,
  type Codecs,
  type DatabaseTarget,
} from '@turnpike/storage';
import { ConfigError } from './config/load.js';
import type { Config, StoreConfig } from './config/schema.js';
import { log, shownError } from './log.js';
import type { StageList } from './stages.js';
import { CONFIG, CONVERSATIONS, STAGE_LIST, STORE, STORES } from './tokens.js';

const DAY_MS = 24 * 60 * 60 * 1000;

/** What is kept beyond a connection, in one place. */
class Stores implements OnApplicationShutdown {
  readonly responses: ResponseStore;
  readonly conversations: ConversationStore;
  readonly #close: () => Promise<void>;

  constructor(
    responses: ResponseStore,
    conversations: ConversationStore,
    close: () => Promise<void> = () => Promise.resolve(),
  ) {
    this.responses = responses;
    this.conversations = conversations;
    this.#close = close;
  }

  onApplicationShutdown(): Promise<void> {
    return this.#close();
  }
}

/** Where `store: true` responses and conversations are kept, as the configuration says. */
export const storeProviders: Provider[] = [
  {
    provide: STORES,
    inject: [CONFIG, STAGE_LIST],
    useFactory: ({ store, limits }: Config, stages: StageList): Stores | Promise<Stores> => {
      const target = targetOf(store);
      if (target !== undefined)
        return openStores(target, store.retentionDays, limits.storeBytes, codecsOf(stages));
      const { storeBytes } = limits;
      return new Stores(new MemoryResponseStore(storeBytes), new MemoryConversationStore(storeBytes));
    },
  },
  { provide: STORE, inject: [STORES], useFactory: ({ responses }: Stores) => responses },
  { provide: CONVERSATIONS, inject: [STORES], useFactory: ({ conversations }: Stores) => conversations },
];

async function openStores(
  target: DatabaseTarget,
  retentionDays: number,
  budget: number,
  codecs: Codecs,
): Promise<Stores> {
  const db = await openDatabase(target, (error) =>
    log.warn({ err: error }, 'database connection lost'),
  ).catch((thrown: unknown) => {
    throw new ConfigError(`The store cannot be opened: ${shownError(thrown).message}`);
  });
  const responses = new SqlResponseStore(db, { codecs, retentionMs: retentionDays * DAY_MS });
  const conversations = new SqlConversationStore(db);
  const sweepers = [responses, conversations].map(
    (store) => new Sweeper(store, (error) => log.error({ err: error }, 'sweep failed')),
  );
  const cached = new CachedResponseStore(responses, {
    budget,
    onFailure: ({ operation, responseId, error }) =>
      log.error({ err: error, operation, response: responseId }, 'store failed'),
  });
  return new Stores(cached, conversations, async () => {
    await Promise.all(sweepers.map((sweeper) => sweeper.stop()));
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
