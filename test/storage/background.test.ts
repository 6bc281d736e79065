import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryBackgroundJobs, type BackgroundJobs, type NewJob } from '@turnpike/background';
import { MemoryResponseStore, type ResponseNode, type ResponseStore } from '@turnpike/conversation';
import { CachedResponseStore, SqlBackgroundJobs, type StoreSchema } from '@turnpike/storage';
import type { Kysely } from 'kysely';
import { answer, makeTurn, storeOn, user } from './conversation.js';
import { KINDS, TestDatabases } from './databases.js';

const RETENTION_MS = 1_000_000;

/** A queue with the store that it belongs to. */
interface Queue {
  readonly jobs: BackgroundJobs;
  readonly responses: ResponseStore;
}

/** The queue as another gateway has it; `leaseMs` is that of this gateway. */
function queueOn(db: Kysely<StoreSchema>, kind: (typeof KINDS)[number], leaseMs = 1_000_000): Queue {
  const responses = new CachedResponseStore(storeOn(db), { budget: 0, onFailure: () => undefined });
  return {
    responses,
    jobs: new SqlBackgroundJobs(db, responses, { kind, leaseMs, retentionMs: RETENTION_MS }),
  };
}

/** A finished turn, as the node that its job ends with. */
async function finished(tenant = 'tenant'): Promise<ResponseNode> {
  const settings = { background: true };
  return (await makeTurn(undefined, { input: [user('hi')], output: [answer('yes')], settings, tenant })).node;
}

/** A job for the response of this node. */
function jobOf({ id, tenant, response }: ResponseNode, events?: readonly string[]): NewJob {
  const request = JSON.stringify({ model: 'm', input: [{ role: 'user', content: 'hi' }] });
  return {
    id,
    tenant,
    key: 'key_1',
    request,
    response: { ...response, status: 'queued', output: [] },
    events,
  };
}

const event = (number: number) =>
  JSON.stringify({ type: 'keepalive', sequence_number: number, text: '\n\0' });
const events = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, index) => event(from + index));

describe.each([...KINDS, 'memory' as const])('background jobs in %s', (kind) => {
  let databases: TestDatabases | undefined;
  let db: Kysely<StoreSchema> | undefined;
  let jobs: BackgroundJobs;
  let responses: ResponseStore;
  beforeAll(async () => {
    if (kind === 'memory') return;
    databases = await TestDatabases.start(kind);
    db = await databases.connect();
  });
  beforeEach(async () => {
    await db?.deleteFrom('background_jobs').execute();
    await db?.deleteFrom('responses').execute();
    const memory = new MemoryResponseStore(1_000_000);
    const queue =
      db === undefined || kind === 'memory'
        ? { responses: memory, jobs: new MemoryBackgroundJobs(memory, 1_000_000) }
        : queueOn(db, kind);
    ({ jobs, responses } = queue);
  });
  afterAll(() => databases?.stop());

  /** Accepts a job and takes it for `runner`. */
  async function running(runner = 'one', firstEvents?: readonly string[]): Promise<ResponseNode> {
    const node = await finished();
    await jobs.enqueue(jobOf(node, firstEvents), 10);
    await jobs.claim(runner, 1);
    return node;
  }

  it('wait, run and end, and are then in the store', async () => {
    const node = await finished();
    const job = jobOf(node, events(0, 2));
    expect(await jobs.enqueue(job, 10)).toBe(true);
    expect(await jobs.find('tenant', node.id)).toEqual({ status: 'queued', events: 2 });
    expect(await jobs.load('tenant', node.id)).toEqual({ status: 'queued', response: job.response });
    expect(await jobs.request('tenant', node.id)).toBe(job.request);
    const [claimed] = await jobs.claim('one', 5);
    expect(claimed).toMatchObject({
      id: node.id,
      tenant: 'tenant',
      key: 'key_1',
      request: job.request,
      events: 2,
    });
    expect(claimed?.response).toEqual(job.response);
    expect(await jobs.load('tenant', node.id)).toEqual({ status: 'in_progress', response: job.response });
    expect(await responses.find('tenant', node.id)).toBeUndefined();
    expect(await jobs.end(node, { kind: 'runner', name: 'one' })).toBe(true);
    expect(await jobs.find('tenant', node.id)).toEqual({ status: 'ended', events: 2 });
    expect(await jobs.load('tenant', node.id)).toBeUndefined();
    expect(await jobs.request('tenant', node.id)).toBeUndefined();
    expect((await responses.find('tenant', node.id))?.response).toEqual(node.response);
  });

  it('are claimed once each, in the order in which they were accepted', async () => {
    const nodes = await Promise.all(Array.from({ length: 7 }, () => finished()));
    for (const node of nodes) await jobs.enqueue(jobOf(node), 10);
    const claimed = [
      await jobs.claim('one', 2),
      await jobs.claim('two', 2),
      await jobs.claim('one', 10),
      await jobs.claim('two', 10),
    ].map((each) => each.map(({ id }) => id));
    const ids = nodes.map(({ id }) => id);
    expect(claimed).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4), []]);
    expect([...(await jobs.held('two')).keys()].sort()).toEqual(ids.slice(2, 4).sort());
  });

  it('of one tenant are bounded while they wait; others are not concerned', async () => {
    for (const expected of [true, true, false])
      expect(await jobs.enqueue(jobOf(await finished()), 2)).toBe(expected);
    expect(await jobs.enqueue(jobOf(await finished('other')), 2)).toBe(true);
    await jobs.claim('one', 1);
    expect(await jobs.enqueue(jobOf(await finished()), 2)).toBe(true);
  });

  it('are unknown to other tenants in every way', async () => {
    const node = await running('one', events(0, 2));
    for (const tenant of ['other', '']) {
      expect(await jobs.find(tenant, node.id)).toBeUndefined();
      expect(await jobs.load(tenant, node.id)).toBeUndefined();
      expect(await jobs.request(tenant, node.id)).toBeUndefined();
      expect(await jobs.readEvents(tenant, node.id, 0)).toEqual([]);
      expect(await jobs.delete(tenant, node.id)).toBe(false);
      await jobs.requestCancel(tenant, node.id);
    }
    expect((await jobs.held('one')).get(node.id)?.cancelRequested).toBe(false);
    expect(await jobs.end(await finished('other'), { kind: 'runner', name: 'one' })).toBe(false);
  });

  it.each(['resp_unknown', '', 'resp_\0', 'resp_\ud800', "' or 1=1 --", 'x'.repeat(300)])(
    'of id %j are not there',
    async (id) => {
      expect(await jobs.find('tenant', id)).toBeUndefined();
      expect(await jobs.load('tenant', id)).toBeUndefined();
      expect(await jobs.request('tenant', id)).toBeUndefined();
      expect(await jobs.delete('tenant', id)).toBe(false);
    },
  );

  describe('and who ends them', () => {
    it('is the one that holds them, once', async () => {
      const node = await running('one');
      expect(await jobs.end(node, { kind: 'runner', name: 'two' })).toBe(false);
      expect(await jobs.end(node, { kind: 'nobody' })).toBe(false);
      expect(await jobs.end(node, { kind: 'gone' })).toBe(false);
      expect(await responses.find('tenant', node.id)).toBeUndefined();
      expect(await jobs.end(node, { kind: 'runner', name: 'one' })).toBe(true);
      expect(await jobs.end(node, { kind: 'runner', name: 'one' })).toBe(false);
    });

    it('is anybody while they wait, and then nobody runs them', async () => {
      const node = await finished();
      await jobs.enqueue(jobOf(node), 10);
      expect(await jobs.end(node, { kind: 'runner', name: 'one' })).toBe(false);
      expect(await jobs.end(node, { kind: 'nobody' })).toBe(true);
      expect(await jobs.claim('one', 10)).toEqual([]);
    });

    it('learns that somebody wants them cancelled', async () => {
      const node = await running('one');
      await jobs.requestCancel('tenant', node.id);
      expect([...(await jobs.held('one'))].map(([id, { cancelRequested }]) => [id, cancelRequested])).toEqual(
        [[node.id, true]],
      );
    });
  });

  describe('and their events', () => {
    it('are read from any number on, however they were added', async () => {
      const node = await running('one', events(0, 2));
      for (let first = 2; first < 400; first += 2) {
        await jobs.append(node.id, 'one', { first, events: events(first, first + 2) });
      }
      expect(await jobs.find('tenant', node.id)).toEqual({ status: 'in_progress', events: 400 });
      for (const from of [0, 1, 2, 77, 399]) {
        const read: string[] = [];
        for (let next = from; next < 400;) {
          const batches = await jobs.readEvents('tenant', node.id, next);
          const [first] = batches;
          const found = batches.flatMap((batch) => batch.events).slice(next - (first?.first ?? 0));
          // What is known is not read again.
          expect(next - (first?.first ?? 0)).toBeLessThan(2);
          read.push(...found);
          next += found.length;
        }
        expect(read).toEqual(events(from, 400));
      }
    });

    it('are not taken from one that does not hold the job any more', async () => {
      const node = await running('one', events(0, 2));
      expect(await jobs.append(node.id, 'two', { first: 2, events: events(2, 3) })).toBe(false);
      await jobs.end(node, { kind: 'runner', name: 'one' });
      expect(await jobs.append(node.id, 'one', { first: 2, events: events(2, 3) })).toBe(false);
      expect(await jobs.readEvents('tenant', node.id, 0)).toEqual([{ first: 0, events: events(0, 2) }]);
    });

    it('can be given up, and then the response cannot be streamed', async () => {
      const node = await running('one', events(0, 2));
      await jobs.dropEvents(node.id, 'two');
      expect((await jobs.find('tenant', node.id))?.events).toBe(2);
      await jobs.dropEvents(node.id, 'one');
      expect(await jobs.find('tenant', node.id)).toEqual({ status: 'in_progress', events: undefined });
      expect(await jobs.readEvents('tenant', node.id, 0)).toEqual([]);
    });

    it('go with the job', async () => {
      const node = await running('one', events(0, 2));
      expect(await jobs.delete('tenant', node.id)).toBe(true);
      expect(await jobs.find('tenant', node.id)).toBeUndefined();
      expect((await jobs.held('one')).size).toBe(0);
      expect(await jobs.append(node.id, 'one', { first: 2, events: events(2, 3) })).toBe(false);
      expect(await jobs.end(node, { kind: 'runner', name: 'one' })).toBe(false);
      expect(await responses.find('tenant', node.id)).toBeUndefined();
      expect(await db?.selectFrom('background_events').selectAll().execute()).toEqual(db && []);
    });
  });

  if (kind !== 'memory')
    describe('over several gateways', () => {
      const other = async (leaseMs?: number): Promise<Queue> => {
        if (db === undefined) throw new Error('there is no database');
        return Promise.resolve(queueOn(db, kind, leaseMs));
      };

      it('are taken by one of them, however many come at once', async () => {
        const nodes = await Promise.all(Array.from({ length: 20 }, () => finished()));
        for (const node of nodes) await jobs.enqueue(jobOf(node), 100);
        const claims = await Promise.all(Array.from({ length: 8 }, (_, index) => jobs.claim(`${index}`, 4)));
        const rest = await jobs.claim('last', 100);
        const ids = [...claims.flat(), ...rest].map(({ id }) => id);
        expect(ids.sort()).toEqual(nodes.map(({ id }) => id).sort());
      });

      it('are given up when their lease has run out, and only then', async () => {
        const node = await running('alive');
        const lapsed = await other(-1);
        const lost = await finished();
        await jobs.enqueue(jobOf(lost), 10);
        await lapsed.jobs.claim('dead', 1);
        await jobs.requestCancel('tenant', lost.id);
        expect(await jobs.expired()).toMatchObject([
          { id: lost.id, tenant: 'tenant', cancelRequested: true },
        ]);
        expect(await jobs.end(node, { kind: 'gone' })).toBe(false);
        expect(await jobs.end(lost, { kind: 'gone' })).toBe(true);
        expect(await jobs.expired()).toEqual([]);
        // Whoever was only slow changes nothing more.
        expect(await jobs.end(lost, { kind: 'runner', name: 'dead' })).toBe(false);
      });

      it('are held on to by renewing their lease, those that are named', async () => {
        const [kept, forgotten] = [await finished(), await finished()];
        const lapsed = await other(-1);
        for (const node of [kept, forgotten]) await jobs.enqueue(jobOf(node), 10);
        await lapsed.jobs.claim('one', 2);
        await jobs.renew('one', [kept.id]);
        expect((await jobs.expired()).map(({ id }) => id)).toEqual([forgotten.id]);
        await jobs.renew('two', [forgotten.id]);
        expect(await jobs.expired()).toHaveLength(1);
      });

      it('are swept away when their response has expired, unless they have not ended', async () => {
        const [ended, waiting] = [await running('one', events(0, 2)), await finished()];
        await jobs.enqueue(jobOf(waiting, events(0, 2)), 10);
        await jobs.end(ended, { kind: 'runner', name: 'one' });
        expect(await jobs.sweep()).toBe(0);
        await db?.updateTable('background_jobs').set({ expires_at: 1 }).execute();
        expect(await jobs.sweep()).toBe(1);
        expect(await jobs.find('tenant', ended.id)).toBeUndefined();
        expect((await jobs.find('tenant', waiting.id))?.status).toBe('queued');
        expect(await db?.selectFrom('background_events').select('response_id').execute()).toEqual([
          { response_id: waiting.id },
        ]);
      });

      it('keep nothing of the request once they have ended', async () => {
        const node = await running('one');
        await jobs.end(node, { kind: 'runner', name: 'one' });
        const rows = await db?.selectFrom('background_jobs').select(['request', 'response']).execute();
        expect(rows).toEqual([{ request: null, response: null }]);
      });
    });

  if (kind === 'memory')
    describe('over the budget', () => {
      it('are refused while nothing can be forgotten, and push out what has ended', async () => {
        const node = await finished();
        const job = jobOf(node, ['x'.repeat(1_000)]);
        const memory = new MemoryResponseStore(1_000_000);
        const small = new MemoryBackgroundJobs(memory, JSON.stringify(job).length);
        expect(await small.enqueue(job, 10)).toBe(true);
        const next = jobOf(await finished(), ['x'.repeat(1_000)]);
        expect(await small.enqueue(next, 10)).toBe(false);
        await small.claim('one', 1);
        await small.end(node, { kind: 'runner', name: 'one' });
        expect(await small.enqueue(next, 10)).toBe(true);
        expect(await small.find('tenant', node.id)).toBeUndefined();
      });
    });
});
