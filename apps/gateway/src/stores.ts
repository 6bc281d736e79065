import type { OnApplicationShutdown, Provider } from '@nestjs/common';
import { SqlAccess } from '@turnpike/access';
import { MemoryBackgroundJobs, type BackgroundJobs } from '@turnpike/background';
import {
  MemoryConversationStore,
  MemoryResponseStore,
  type ConversationStore,
  type ResponseStore,
} from '@turnpike/conversation';
import { Ledger } from '@turnpike/ledger';
import {
  CachedResponseStore,
  openDatabase,
  SqlBackgroundJobs,
  SqlConversationStore,
  SqlResponseStore,
  Sweeper,
  type Codecs,
  type DatabaseKind,
  type DatabaseTarget,
  type SqlStoreOptions,
  type StoreFailure,
} from '@turnpike/storage';
import { ConfigError } from './config/load.js';
import type { Config, StoreConfig } from './config/schema.js';
import { log, shownError } from './log.js';
import { openSpooled } from './spooled-store.js';
import type { StageList } from './stages.js';
import { BACKGROUND_JOBS, CONFIG, CONVERSATIONS, STAGE_LIST, STORE, STORES } from './tokens.js';

/** How long a gateway may not be heard of before the background responses that it makes are given up, in ms. */
const LEASE_MS = 20_000;
const DAY_MS = 24 * 60 * 60 * 1000;

/** What is kept beyond a connection. */
interface Kept {
  readonly responses: ResponseStore;
  readonly conversations: ConversationStore;
  readonly backgroundJobs: BackgroundJobs;
}

/** What lies in one place, and is closed when the application ends. */
export class Stores implements OnApplicationShutdown {
  readonly #before: (() => Promise<void>)[] = [];

  constructor(
    readonly kept: Kept,
    readonly ledger: Ledger,
    readonly kind: DatabaseKind,
    /** Keys, where there is a database that stays. */
    readonly access: SqlAccess | undefined,
    private readonly close: () => Promise<void>,
  ) {}

  /** What is still to be done in the databases before they are closed. */
  beforeClose(task: () => Promise<void>): void {
    this.#before.push(task);
  }

  async onApplicationShutdown(): Promise<void> {
    try {
      for (const task of this.#before) await task();
    } finally {
      await this.close();
    }
  }
}

/** Where responses, conversations and background jobs are kept, as the configuration says. */
export const storeProviders: Provider[] = [
  {
    provide: STORES,
    inject: [CONFIG, STAGE_LIST],
    useFactory: async ({ store, limits }: Config, stages: StageList): Promise<Stores> => {
      const target = targetOf(store);
      const { storeBytes } = limits;
      if (target !== undefined) return openStores(target, store, storeBytes, codecsOf(stages));
      const responses = new MemoryResponseStore(storeBytes);
      const kept = {
        responses,
        conversations: new MemoryConversationStore(storeBytes),
        backgroundJobs: new MemoryBackgroundJobs(responses, storeBytes),
      };
      // The ledger is SQL wherever it lies.
      const db = await openDatabase({ kind: 'sqlite', path: ':memory:' }, () => undefined);
      return new Stores(kept, await Ledger.open(db, 'sqlite'), 'sqlite', undefined, () => db.destroy());
    },
  },
  { provide: STORE, inject: [STORES], useFactory: ({ kept }: Stores) => kept.responses },
  { provide: CONVERSATIONS, inject: [STORES], useFactory: ({ kept }: Stores) => kept.conversations },
  { provide: BACKGROUND_JOBS, inject: [STORES], useFactory: ({ kept }: Stores) => kept.backgroundJobs },
];

async function openStores(
  target: DatabaseTarget,
  config: StoreConfig,
  budget: number,
  codecs: Codecs,
): Promise<Stores> {
  const retentionMs = config.retentionDays * DAY_MS;
  const options = { codecs, retentionMs };
  const opened = await (
    target.kind === 'postgres' ? openSpooled(target.url, config, options) : openFile(target, options)
  ).catch((thrown: unknown) => {
    if (thrown instanceof ConfigError) throw thrown;
    throw new ConfigError(`The store cannot be opened: ${shownError(thrown).message}`);
  });
  const { db, rows } = opened;
  const conversations = new SqlConversationStore(db);
  const responses = new CachedResponseStore(opened.responses, { budget, onFailure: sayFailure });
  const backgroundJobs = new SqlBackgroundJobs(db, responses, {
    kind: target.kind,
    leaseMs: LEASE_MS,
    retentionMs,
  });
  const sweepers = [rows, conversations, backgroundJobs].map(
    (each) => new Sweeper(each, (error) => log.error({ err: error }, 'sweep failed')),
  );
  const [access, ledger] = [await SqlAccess.open(db, target.kind), await Ledger.open(db, target.kind)];
  return new Stores({ responses, conversations, backgroundJobs }, ledger, target.kind, access, async () => {
    await Promise.all(sweepers.map((sweeper) => sweeper.stop()));
    await opened.close();
  });
}

/** A file on this machine: no less there than a spool beside it would be, so that there is none. */
async function openFile(target: DatabaseTarget, options: SqlStoreOptions) {
  const db = await openDatabase(target, () => undefined);
  const rows = new SqlResponseStore(db, options);
  return { db, rows, responses: rows, close: () => db.destroy() };
}

function sayFailure({ operation, responseId: response, error }: StoreFailure): void {
  if (operation === 'save') log.error({ err: error, operation, response }, 'store failed');
  // It is served from memory all the same.
  else log.warn({ err: error, operation, response }, 'whether a response was deleted cannot be known');
}

/** Undefined for a store in memory. */
export function targetOf({ kind, path, url }: StoreConfig): DatabaseTarget | undefined {
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
