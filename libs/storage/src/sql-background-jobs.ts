import type {
  BackgroundJobs,
  ClaimedJob,
  EventBatch,
  ExpiredJob,
  Holder,
  JobState,
  NewJob,
  UnfinishedJob,
} from '@turnpike/background';
import type { ResponseNode } from '@turnpike/conversation';
import type { ResponseObject } from '@turnpike/protocol';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import { setImmediate } from 'node:timers/promises';
import type { BackgroundJobRow, DatabaseKind, StoreSchema } from './schema.js';
import type { Admit } from './sql-response-store.js';
import { ID } from './statements.js';

export interface SqlBackgroundOptions {
  readonly kind: DatabaseKind;
  /** How long a runner may not be heard of before its jobs are given up, in ms. */
  readonly leaseMs: number;
  /** How long a job that has ended is kept, in ms: as long as its response. */
  readonly retentionMs: number;
}

/** Saves a response if it is admitted in the same transaction. */
interface Responses {
  saveIf(node: ResponseNode, admit: Admit): Promise<boolean>;
}

/** Batches of one read: some hundred kilobytes. */
const READ_BATCHES = 64;
/** Jobs that one look for expired ones finds, each with its request. */
const EXPIRED_JOBS = 16;
/** Jobs that one sweep deletes at once, with their events. */
const SWEEP_JOBS = 20;

/** Now, in ms, by the one clock that all runners share: theirs may differ by more than a lease. */
const NOW: Record<DatabaseKind, RawBuilder<number>> = {
  sqlite: sql<number>`cast(unixepoch('subsec') * 1000 as integer)`,
  postgres: sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`,
};
/** Rows that another runner is about to take are passed over; SQLite lets one writer in at a time anyway. */
const SKIP_TAKEN: Record<DatabaseKind, RawBuilder<unknown>> = {
  sqlite: sql``,
  postgres: sql`for update skip locked`,
};

/** The queue of background responses in the database of the store. */
export class SqlBackgroundJobs implements BackgroundJobs {
  readonly #db: Kysely<StoreSchema>;
  readonly #responses: Responses;
  readonly #options: SqlBackgroundOptions;

  /** @param responses where responses go, in the same database */
  constructor(db: Kysely<StoreSchema>, responses: Responses, options: SqlBackgroundOptions) {
    this.#db = db;
    this.#responses = responses;
    this.#options = options;
  }

  /** The count is not part of the transaction: requests that come at once may go over the bound by as many. */
  async enqueue(job: NewJob, mostQueued: number): Promise<boolean> {
    const { count } = await this.#db
      .selectFrom('background_jobs')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('tenant', '=', job.tenant)
      .where('status', '=', 'queued')
      .executeTakeFirstOrThrow();
    if (Number(count) >= mostQueued) return false;
    const row = {
      response_id: job.id,
      tenant: job.tenant,
      key_id: job.key,
      status: 'queued',
      position: sql<number>`(select coalesce(max(position), 0) + 1 from background_jobs where status = 'queued')`,
      runner: null,
      lease_until: null,
      cancel_requested: 0,
      events: job.events?.length ?? null,
      request: job.request,
      response: JSON.stringify(job.response),
      expires_at: this.#expiry(),
    };
    await this.#db.transaction().execute(async (transaction) => {
      await transaction.insertInto('background_jobs').values(row).execute();
      if (job.events !== undefined) await addEvents(transaction, job.id, { first: 0, events: job.events });
    });
    return true;
  }

  async find(tenant: string, id: string): Promise<JobState | undefined> {
    if (!ID.test(id)) return undefined;
    const row = await this.#job(tenant, id).select(['status', 'events']).executeTakeFirst();
    return row && { status: row.status as JobState['status'], events: row.events ?? undefined };
  }

  async load(tenant: string, id: string): Promise<UnfinishedJob | undefined> {
    if (!ID.test(id)) return undefined;
    const row = await this.#job(tenant, id).select(['status', 'response']).executeTakeFirst();
    if (row === undefined || row.response === null) return undefined;
    return {
      status: row.status as UnfinishedJob['status'],
      response: JSON.parse(row.response) as ResponseObject,
    };
  }

  async request(tenant: string, id: string): Promise<string | undefined> {
    if (!ID.test(id)) return undefined;
    const row = await this.#job(tenant, id).select('request').executeTakeFirst();
    return row?.request ?? undefined;
  }

  async claim(runner: string, most: number): Promise<ClaimedJob[]> {
    const { kind, leaseMs } = this.#options;
    // A look first: an update takes the write lock of SQLite even when there is nothing to take.
    const [waiting] = await this.#db
      .selectFrom('background_jobs')
      .select('response_id')
      .where('status', '=', 'queued')
      .limit(1)
      .execute();
    if (waiting === undefined) return [];
    // Materialized: Postgres may run a subquery once for each row, and each run would skip what the others have locked.
    const { rows } = await sql<BackgroundJobRow>`
      with next as materialized (
        select response_id from background_jobs where status = 'queued'
          order by position, response_id limit ${most} ${SKIP_TAKEN[kind]})
      update background_jobs set status = 'in_progress', runner = ${runner}, lease_until = ${NOW[kind]} + ${leaseMs}
        where status = 'queued' and response_id in (select response_id from next)
        returning *`.execute(this.#db);
    rows.sort((a, b) => a.position - b.position);
    return rows.map((row) => ({ ...jobOf(row), events: row.events ?? undefined }));
  }

  async held(runner: string): Promise<Map<string, { readonly cancelRequested: boolean }>> {
    const rows = await this.#db
      .selectFrom('background_jobs')
      .select(['response_id', 'cancel_requested'])
      .where('status', '=', 'in_progress')
      .where('runner', '=', runner)
      .execute();
    return new Map(rows.map((row) => [row.response_id, { cancelRequested: row.cancel_requested === 1 }]));
  }

  async renew(runner: string, ids: readonly string[]): Promise<void> {
    const { kind, leaseMs } = this.#options;
    await this.#db
      .updateTable('background_jobs')
      .set({ lease_until: sql<number>`${NOW[kind]} + ${leaseMs}` })
      .where('response_id', 'in', ids)
      .where('status', '=', 'in_progress')
      .where('runner', '=', runner)
      .execute();
  }

  async requestCancel(tenant: string, id: string): Promise<void> {
    await this.#db
      .updateTable('background_jobs')
      .set({ cancel_requested: 1 })
      .where('response_id', '=', id)
      .where('tenant', '=', tenant)
      .where('status', '=', 'in_progress')
      .execute();
  }

  async append(id: string, runner: string, batch: EventBatch): Promise<boolean> {
    return this.#db.transaction().execute(async (transaction) => {
      // The row is locked until the events are in: whoever ends the job meanwhile waits, and then counts them.
      const { numUpdatedRows } = await this.#held(transaction, id, runner)
        .set({ events: batch.first + batch.events.length })
        .executeTakeFirst();
      if (Number(numUpdatedRows) === 0) return false;
      await addEvents(transaction, id, batch);
      return true;
    });
  }

  async dropEvents(id: string, runner: string): Promise<void> {
    await this.#db.transaction().execute(async (transaction) => {
      const { numUpdatedRows } = await this.#held(transaction, id, runner)
        .set({ events: null })
        .executeTakeFirst();
      if (Number(numUpdatedRows) === 0) return;
      await transaction.deleteFrom('background_events').where('response_id', '=', id).execute();
    });
  }

  async readEvents(tenant: string, id: string, from: number): Promise<EventBatch[]> {
    const rows = await this.#db
      .selectFrom('background_events as e')
      .innerJoin('background_jobs as j', 'j.response_id', 'e.response_id')
      .select(['e.first', 'e.lines'])
      .where('j.tenant', '=', tenant)
      .where('e.response_id', '=', id)
      // The batch that this event is in, found by the key: going through all of them would cost what there has been.
      .where('e.first', '>=', (query) =>
        query
          .selectFrom('background_events')
          .select(({ fn }) => fn.coalesce(fn.max('first'), sql<number>`0`).as('first'))
          .where('response_id', '=', id)
          .where('first', '<=', from),
      )
      .orderBy('e.first')
      .limit(READ_BATCHES)
      .execute();
    return rows.map(({ first, lines }) => ({ first, events: lines.split('\n') }));
  }

  async expired(): Promise<ExpiredJob[]> {
    const rows = await this.#db
      .selectFrom('background_jobs')
      .selectAll()
      .where('status', '=', 'in_progress')
      .where('lease_until', '<', NOW[this.#options.kind])
      .limit(EXPIRED_JOBS)
      .execute();
    return rows.map((row) => ({ ...jobOf(row), cancelRequested: row.cancel_requested === 1 }));
  }

  end(node: ResponseNode, holder: Holder): Promise<boolean> {
    return this.#responses.saveIf(node, async (transaction) => {
      const ended = { status: 'ended', runner: null, lease_until: null, request: null, response: null };
      const job = transaction
        .updateTable('background_jobs')
        .set({ ...ended, expires_at: this.#expiry() })
        .where('response_id', '=', node.id)
        .where('tenant', '=', node.tenant)
        .where('status', '=', holder.kind === 'nobody' ? 'queued' : 'in_progress');
      const { numUpdatedRows } = await (
        holder.kind === 'runner'
          ? job.where('runner', '=', holder.name)
          : holder.kind === 'gone'
            ? job.where('lease_until', '<', NOW[this.#options.kind])
            : job
      ).executeTakeFirst();
      return Number(numUpdatedRows) === 1;
    });
  }

  async delete(tenant: string, id: string): Promise<boolean> {
    if (!ID.test(id)) return false;
    const { numDeletedRows } = await this.#db
      .deleteFrom('background_jobs')
      .where('response_id', '=', id)
      .where('tenant', '=', tenant)
      .executeTakeFirst();
    return Number(numDeletedRows) === 1;
  }

  async sweep(): Promise<number> {
    for (let total = 0; ; await setImmediate()) {
      const { numDeletedRows } = await this.#db
        .deleteFrom('background_jobs')
        .where('response_id', 'in', (query) =>
          query
            .selectFrom('background_jobs')
            .select('response_id')
            .where('status', '=', 'ended')
            .where('expires_at', '<=', Date.now())
            .limit(SWEEP_JOBS),
        )
        .executeTakeFirst();
      if (Number(numDeletedRows) === 0) return total;
      total += Number(numDeletedRows);
    }
  }

  #expiry(): number {
    return Date.now() + this.#options.retentionMs;
  }

  #job(tenant: string, id: string) {
    return this.#db.selectFrom('background_jobs').where('response_id', '=', id).where('tenant', '=', tenant);
  }

  #held(transaction: Kysely<StoreSchema>, id: string, runner: string) {
    return transaction
      .updateTable('background_jobs')
      .where('response_id', '=', id)
      .where('status', '=', 'in_progress')
      .where('runner', '=', runner);
  }
}

async function addEvents(db: Kysely<StoreSchema>, id: string, { first, events }: EventBatch): Promise<void> {
  await db
    .insertInto('background_events')
    // JSON text has no line feeds of its own.
    .values({ response_id: id, first, lines: events.join('\n') })
    .execute();
}

/** A row of a job that has not ended. */
function jobOf({ response_id, tenant, key_id, request, response }: BackgroundJobRow) {
  return {
    id: response_id,
    tenant,
    key: key_id ?? 'unknown',
    request: request ?? '',
    response: JSON.parse(response ?? '') as ResponseObject,
  };
}
