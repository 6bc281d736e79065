import type { ResponseNode, ResponseStore } from '@turnpike/conversation';
import type {
  BackgroundJobs,
  ClaimedJob,
  EventBatch,
  ExpiredJob,
  Holder,
  JobState,
  NewJob,
  UnfinishedJob,
} from './background-jobs.js';

interface Entry {
  readonly job: NewJob;
  status: JobState['status'];
  runner: string | undefined;
  cancelRequested: boolean;
  /** Undefined when the response cannot be streamed. */
  batches: EventBatch[] | undefined;
  events: number;
  /** Characters of the response as it was accepted, of the request while it is needed, and of the events. */
  size: number;
}

/** Most batches that one read returns. */
const READ_BATCHES = 64;

/**
 * The queue of a single process. Requests and events share a budget: over it the events of the responses that ended
 * first are forgotten, and when that is not enough no job is taken. Nothing survives a restart, so no lease runs out.
 */
export class MemoryBackgroundJobs implements BackgroundJobs {
  readonly #responses: Pick<ResponseStore, 'save'>;
  readonly #budget: number;
  /** By id, in the order in which they were accepted. */
  readonly #entries = new Map<string, Entry>();
  /** Those that have not ended. */
  readonly #unfinished = new Set<Entry>();
  #size = 0;

  /** @param budget characters of requests and events */
  constructor(responses: Pick<ResponseStore, 'save'>, budget: number) {
    this.#responses = responses;
    this.#budget = budget;
  }

  enqueue(job: NewJob, mostQueued: number): Promise<boolean> {
    const size = JSON.stringify(job.response).length + job.request.length + sizeOf(job.events ?? []);
    this.#makeRoom(size);
    const waiting = [...this.#unfinished].filter(
      (each) => each.status === 'queued' && each.job.tenant === job.tenant,
    );
    if (waiting.length >= mostQueued || this.#size + size > this.#budget) return Promise.resolve(false);
    const batches = job.events && [{ first: 0, events: job.events }];
    const events = job.events?.length ?? 0;
    const entry: Entry = {
      job,
      status: 'queued',
      runner: undefined,
      cancelRequested: false,
      batches,
      events,
      size,
    };
    this.#entries.set(job.id, entry);
    this.#unfinished.add(entry);
    this.#size += size;
    return Promise.resolve(true);
  }

  find(tenant: string, id: string): Promise<JobState | undefined> {
    const entry = this.#of(tenant, id);
    return Promise.resolve(entry && { status: entry.status, events: eventsOf(entry) });
  }

  load(tenant: string, id: string): Promise<UnfinishedJob | undefined> {
    const entry = this.#of(tenant, id);
    if (entry === undefined || entry.status === 'ended') return Promise.resolve(undefined);
    return Promise.resolve({ status: entry.status, response: entry.job.response });
  }

  request(tenant: string, id: string): Promise<string | undefined> {
    const entry = this.#of(tenant, id);
    return Promise.resolve(entry?.status === 'ended' ? undefined : entry?.job.request);
  }

  claim(runner: string, most: number): Promise<ClaimedJob[]> {
    const claimed = [...this.#unfinished].filter(({ status }) => status === 'queued').slice(0, most);
    for (const entry of claimed) Object.assign(entry, { status: 'in_progress', runner });
    return Promise.resolve(claimed.map((entry) => ({ ...entry.job, events: eventsOf(entry) })));
  }

  held(runner: string): Promise<Map<string, { readonly cancelRequested: boolean }>> {
    const held = [...this.#unfinished].filter((entry) => entry.runner === runner);
    return Promise.resolve(new Map(held.map((entry) => [entry.job.id, entry])));
  }

  renew(): Promise<void> {
    return Promise.resolve();
  }

  requestCancel(tenant: string, id: string): Promise<void> {
    const entry = this.#of(tenant, id);
    if (entry?.status === 'in_progress') entry.cancelRequested = true;
    return Promise.resolve();
  }

  append(id: string, runner: string, batch: EventBatch): Promise<boolean> {
    const entry = this.#entries.get(id);
    if (entry?.runner !== runner) return Promise.resolve(false);
    entry.batches?.push(batch);
    entry.events = batch.first + batch.events.length;
    this.#grow(entry, sizeOf(batch.events));
    this.#makeRoom(0);
    return Promise.resolve(true);
  }

  dropEvents(id: string, runner: string): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry?.runner === runner) this.#forgetEvents(entry);
    return Promise.resolve();
  }

  readEvents(tenant: string, id: string, from: number): Promise<EventBatch[]> {
    const batches = this.#of(tenant, id)?.batches ?? [];
    const start = batches.findIndex(({ first, events }) => first + events.length > from);
    return Promise.resolve(start === -1 ? [] : batches.slice(start, start + READ_BATCHES));
  }

  expired(): Promise<ExpiredJob[]> {
    return Promise.resolve([]);
  }

  async end(node: ResponseNode, holder: Holder): Promise<boolean> {
    const entry = this.#of(node.tenant, node.id);
    if (entry === undefined || !isHeldBy(entry, holder)) return false;
    await this.#responses.save(node);
    this.#grow(entry, -entry.job.request.length);
    this.#unfinished.delete(entry);
    Object.assign(entry, { status: 'ended', runner: undefined, job: { ...entry.job, request: '' } });
    return true;
  }

  delete(tenant: string, id: string): Promise<boolean> {
    const entry = this.#of(tenant, id);
    if (entry === undefined) return Promise.resolve(false);
    this.#forget(id, entry);
    return Promise.resolve(true);
  }

  sweep(): Promise<number> {
    return Promise.resolve(0);
  }

  #of(tenant: string, id: string): Entry | undefined {
    const entry = this.#entries.get(id);
    return entry?.job.tenant === tenant ? entry : undefined;
  }

  #grow(entry: Entry, by: number): void {
    entry.size += by;
    this.#size += by;
  }

  #forget(id: string, entry: Entry): void {
    this.#entries.delete(id);
    this.#unfinished.delete(entry);
    this.#size -= entry.size;
  }

  #forgetEvents(entry: Entry): void {
    this.#grow(entry, -sizeOf(entry.batches?.flatMap(({ events }) => events) ?? []));
    entry.batches = undefined;
  }

  /** Forgets jobs that have ended, oldest first, until `size` more characters fit. */
  #makeRoom(size: number): void {
    if (this.#size + size <= this.#budget) return;
    for (const [id, entry] of this.#entries) {
      if (this.#size + size <= this.#budget) return;
      if (entry.status !== 'ended') continue;
      this.#forget(id, entry);
    }
  }
}

function eventsOf({ batches, events }: Entry): number | undefined {
  return batches && events;
}

function isHeldBy({ status, runner }: Entry, holder: Holder): boolean {
  if (holder.kind === 'runner') return runner === holder.name;
  return holder.kind === 'nobody' && status === 'queued';
}

function sizeOf(events: readonly string[]): number {
  return events.reduce((sum, event) => sum + event.length, 0);
}
