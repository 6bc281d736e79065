import {
  Drainer,
  openGuarded,
  Spool,
  SpooledResponseStore,
  SqlResponseStore,
  type SqlStoreOptions,
  type StoreSchema,
} from '@turnpike/storage';
import type { Kysely } from 'kysely';
import { repeat } from './background/repeat.js';
import { ConfigError } from './config/load.js';
import type { StoreConfig } from './config/schema.js';
import { log, shownError } from './log.js';
import { showSpool } from './spool-metrics.js';

/** How often spools of gateways that died are looked for, in ms. */
const ADOPT_MS = 10_000;

/** A Postgres that no response waits for while it is down. */
export interface SpooledStore {
  readonly db: Kysely<StoreSchema>;
  /** Its own rows, for the sweeper. */
  readonly rows: SqlResponseStore;
  readonly responses: SpooledResponseStore;
  close(): Promise<void>;
}

/**
 * Opens the database and the spool in front of it, and writes what gateways before this one have left in there.
 * @throws ConfigError when the folder of the spool cannot be used; Error when the database cannot be opened
 */
export async function openSpooled(
  url: string,
  { spool: root, spoolBytes: maxBytes }: StoreConfig,
  options: SqlStoreOptions,
): Promise<SpooledStore> {
  const guarded = await openGuarded(
    url,
    (error) => log.warn({ err: error }, 'database connection lost'),
    (isDown, reason) => {
      if (isDown) return log.error({ err: reason }, 'the database is down: responses go to the spool');
      log.warn('the database is back');
      void drain();
    },
  );
  const { db, circuit, beside } = guarded;
  const rows = new SqlResponseStore(db, options);
  const spool = spoolIn(root, maxBytes);
  const drainer = new Drainer({
    spool,
    target: new SqlResponseStore(beside, options),
    onRefused: (response, error, node) => {
      if (node !== undefined) rows.isNotKept(node);
      log.error({ err: error, operation: 'save', response }, 'store failed');
    },
    onFault: ({ kind, segment, offset, detail }, name) =>
      log.error({ spool: name, segment, offset, detail, fault: kind }, 'the spool is not as it was written'),
  });
  const drain = () => drainer.drain().catch((thrown: unknown) => circuit.trip(thrown));
  circuit.beforeUp(() => drainer.drain());
  showSpool(() => ({ bytes: spool.bytes, limit: maxBytes, responses: spool.size, isDown: circuit.isDown }));
  await spool.adopt();
  await drain();
  const adopting = repeat(
    ADOPT_MS,
    async () => {
      try {
        await spool.adopt();
      } finally {
        if (!circuit.isDown) await drain();
      }
    },
    (thrown) => log.error({ err: thrown }, 'spools of other gateways cannot be taken over'),
  );
  return {
    db,
    rows,
    responses: new SpooledResponseStore(rows, { circuit, spool, drainer }),
    async close() {
      const stopped = Promise.all([adopting.stop(), drainer.stop()]);
      await guarded.close();
      await stopped;
      await spool.close();
    },
  };
}

function spoolIn(root: string, maxBytes: number): Spool {
  try {
    return new Spool({
      root,
      maxBytes,
      onFailure: (error) => {
        if (error === undefined) log.warn('the spool can be written to again');
        else log.error({ err: error }, 'the spool cannot be written to: responses wait for the database');
      },
    });
  } catch (thrown) {
    throw new ConfigError(`store.spool: ${root} cannot be used: ${shownError(thrown).message}`);
  }
}
