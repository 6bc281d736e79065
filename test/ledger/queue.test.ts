import { afterAll, beforeAll, beforeEach, afterEach, describe, expect, it } from '@jest/globals';
import { Booker, DeadLetters, Ledger, UsageWorker } from '@turnpike/ledger';
import {
  checkRedis,
  connect,
  CONSUMER,
  EvictionError,
  Journals,
  pendingIn,
  Relay,
  UnfitRedis,
  usageJobId,
  UsageQueue,
  type UsageQueueOptions,
} from '@turnpike/metering';
import { Job, Queue } from 'bullmq';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, connect as dial, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRedis, type RedisService } from '../e2e/services.js';
import { TestDatabases } from '../storage/databases.js';
import { PRICES, usageRecord } from './records.js';

let service: RedisService;
let databases: TestDatabases;
let redis: Redis;
beforeAll(async () => {
  [service, databases] = await Promise.all([startRedis({ own: true }), TestDatabases.start('sqlite')]);
  redis = connect(service.url, CONSUMER, () => undefined);
});
afterAll(async () => {
  redis.disconnect();
  await Promise.all([service.remove(), databases.stop()]);
});

const until = async (condition: () => boolean | Promise<boolean>) => {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10));
};

/** An address that leads to one server or another, as that of a master does. */
async function address(of: { port: number }) {
  const server = createServer((client) => {
    const there = dial(of.port, '127.0.0.1');
    for (const [from, to] of [
      [client, there],
      [there, client],
    ] as const) {
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

describe('the id of a job', () => {
  it('E01: passes what BullMQ itself checks, whatever the journal is called', async () => {
    const queue = new Queue('ids', { connection: redis });
    await fc.assert(
      fc.asyncProperty(fc.string(), fc.nat(), async (journal, settleSequence) => {
        const jobId = usageJobId({ journal, records: [usageRecord('r', { settleSequence })] });
        expect(jobId).toMatch(/^usage-[A-Za-z0-9_-]+$/);
        const job = new Job(queue, 'usage', {}, { jobId }, jobId);
        // What add() calls before anything is sent.
        (job as unknown as { validateOptions: (json: unknown) => void }).validateOptions({});
      }),
      { numRuns: 50 },
    );
    for (const jobId of ['bill:resp_1', '123']) {
      await expect(queue.add('usage', {}, { jobId })).rejects.toThrow();
    }
    await queue.close();
  });

  it('is the same for the same batch, and another for any other', () => {
    const batch = (journal: string, ...sequences: number[]) =>
      usageJobId({ journal, records: sequences.map((n) => usageRecord('r', { settleSequence: n })) });
    expect(batch('j', 3, 5)).toBe(batch('j', 3, 5));
    expect(new Set([batch('j', 3, 5), batch('j', 3, 7), batch('k', 3, 5), batch('j', 5)]).size).toBe(4);
  });
});

describe('the queue', () => {
  let ledger: Ledger;
  let letters: DeadLetters;
  let closing: (() => Promise<void>)[];
  beforeEach(async () => {
    await redis.flushall();
    ledger = await Ledger.open(await databases.connect(), 'sqlite');
    letters = new DeadLetters(ledger);
    closing = [];
  });
  afterEach(async () => {
    for (const close of closing.reverse()) await close();
  });

  const errors: string[] = [];
  const queue = (url = service.url, missing?: UsageQueueOptions['missing']) => {
    const made = new UsageQueue({ url, missing, onError: ({ message }) => errors.push(message) });
    closing.push(() => made.close());
    return made;
  };
  /** Delivers, as the relay does: again until it has arrived. */
  const deliver = async (to: UsageQueue, ...batch: Parameters<UsageQueue['deliver']>) => {
    await until(() =>
      to.deliver(...batch).then(
        () => true,
        () => false,
      ),
    );
  };
  const worker = (booker: Pick<Booker, 'book'> = new Booker(ledger, letters), url = service.url) => {
    const made = new UsageWorker({ url, booker, onError: () => undefined });
    closing.push(() => made.close());
    return made;
  };
  const owed = () => ledger.owed('t');

  it('brings batches to the ledger; what comes again, before or after it is done, changes nothing', async () => {
    const to = queue();
    await deliver(to, [usageRecord('r1'), usageRecord('r2')], 'j');
    await deliver(to, [usageRecord('r1'), usageRecord('r2')], 'j');
    expect((await to.counts())['waiting']).toBe(1);
    expect(await to.pending(10)).toEqual(['r1', 'r2']);
    worker();
    await until(async () => (await owed()) === 40_000n);
    await redis.flushall();
    await deliver(to, [usageRecord('r2'), usageRecord('r3', { settleSequence: 9 })], 'j');
    await until(async () => (await owed()) === 60_000n);
    expect(await ledger.verify()).toEqual([]);
  });

  it('has no word of a prompt in a job', async () => {
    const to = queue();
    await deliver(to, [usageRecord('r1')], 'j');
    const [key] = await redis.keys('bull:usage:usage-*');
    const { records } = JSON.parse((await redis.hget(key ?? '', 'data')) ?? '') as { records: object[] };
    expect(Object.keys(records[0] ?? {}).sort()).toEqual(Object.keys(usageRecord('r1')).sort());
  });

  it('what cannot be booked is kept with its reason, and holds up nothing else', async () => {
    const to = queue();
    // SQLite refuses what is null, as Postgres refuses what has a NUL in it.
    const odd = usageRecord('odd', { amount: -1 });
    await deliver(to, [usageRecord('r1'), odd, usageRecord('r2')], 'j');
    const byHand = new Queue('usage', { connection: redis });
    await byHand.add('usage', { hello: 'there' }, { jobId: 'by-hand' });
    await byHand.close();
    expect(await to.pending(10)).toEqual(['r1', 'odd', 'r2']);
    worker();
    await until(async () => (await letters.list('open')).length === 2 && (await owed()) === 40_000n);
    const found = await letters.list('open');
    expect(found.map(({ job, response_id, reason }) => [job, response_id, reason]).sort()).toEqual([
      ['by-hand', null, expect.stringContaining('not a usage record')],
      ['usage-j-2-2', 'odd', expect.stringContaining('amount')],
    ]);
  });

  it('a database that is away is waited for, however often', async () => {
    const to = queue();
    let tries = 0;
    const real = new Booker(ledger, letters);
    await deliver(to, [usageRecord('r1')], 'j');
    worker({
      book: (...batch) =>
        ++tries <= 3 ? Promise.reject(new Error('connection terminated')) : real.book(...batch),
    });
    await until(async () => (await redis.hget('bull:usage:usage-j-2-2', 'stacktrace')) !== null);
    await until(async () => (await owed()) === 20_000n);
    expect(tries).toBe(4);
    // What each try adds to the job would fill Redis in a long outage.
    const stacks = JSON.parse((await redis.hget('bull:usage:usage-j-2-2', 'stacktrace')) ?? '[]') as string[];
    expect(stacks).toHaveLength(1);
  });

  it('E04: a master that was demoted under its connections is left for the new one', async () => {
    const next = await startRedis({ own: true });
    const portOf = (url: string) => Number(new URL(url).port);
    const master = { port: portOf(service.url) };
    const { url, close } = await address(master);
    const to = queue(url);
    worker(undefined, url);
    try {
      await deliver(to, [usageRecord('r1')], 'j');
      await until(async () => (await owed()) === 20_000n);
      master.port = portOf(next.url);
      await redis.replicaof('127.0.0.1', master.port);
      await deliver(to, [usageRecord('r2', { settleSequence: 4 })], 'j');
      await until(async () => (await owed()) === 40_000n);
    } finally {
      for (const each of closing.splice(0).reverse()) await each();
      await redis.replicaof('NO', 'ONE');
      close();
      await next.remove();
    }
  });

  it('E04: what a Redis without its disk has lost is delivered again, once', async () => {
    const root = mkdtempSync(join(tmpdir(), 'turnpike-queue-'));
    const journals = new Journals({ root, prices: PRICES, maxBytes: 1e9 });
    const lost: number[] = [];
    const sink = queue(service.url, (ids) => ledger.missing(ids));
    const relay = new Relay({
      readers: () => journals.readers,
      sink,
      followMs: 10,
      onLost: (count) => lost.push(count),
    });
    closing.push(async () => {
      await relay.stop();
      await journals.close();
      rmSync(root, { recursive: true });
    });
    const settled = (id: string) => journals.own.settle(usageRecord(id));
    settled('r1');
    await until(() => relay.flush());
    await redis.flushall();
    settled('r2');
    await until(async () => (await relay.flush()) && lost.length > 0);
    expect([lost, (await sink.pending(10)).toSorted()]).toEqual([[1], ['r1', 'r2']]);
    worker();
    await until(async () => (await owed()) === 40_000n);
    // A job that is done may be gone: it is not lost.
    await redis.flushall();
    await until(async () => (await relay.flush()) && (await pendingIn(root)).size === 0);
    expect([lost, await owed()]).toEqual([[1], 40_000n]);
  });

  it('a Redis that lets nobody in is refused at the start, and one that is away is not', async () => {
    await redis.config('SET', 'requirepass', 'right');
    const { host } = new URL(service.url);
    try {
      for (const who of ['', ':wrong@', 'nobody:right@']) {
        await expect(checkRedis(`redis://${who}${host}`)).rejects.toThrow(UnfitRedis);
      }
      expect(await checkRedis(`redis://:right@${host}`)).toBe(true);
    } finally {
      await redis.config('SET', 'requirepass', '');
    }
  });

  it('E04: Redis goes and comes back: deliveries fail at once, then everything goes on, without a restart', async () => {
    const to = queue();
    const at = worker();
    await deliver(to, [usageRecord('r1')], 'j');
    await until(async () => (await owed()) === 20_000n);
    expect(await at.health()).toBeUndefined();
    await service.kill();
    await expect(to.deliver([usageRecord('r2', { settleSequence: 4 })], 'j')).rejects.toThrow();
    expect(await at.health()).toMatch(/redis (is|does not answer)/);
    await service.start();
    await deliver(to, [usageRecord('r2', { settleSequence: 4 })], 'j');
    await until(async () => (await owed()) === 40_000n);
    await until(async () => (await at.health()) === undefined);
  });

  it('E07: a Redis that may throw jobs away is refused, at the start and later', async () => {
    expect(await checkRedis(service.url)).toBe(true);
    await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
    try {
      await expect(checkRedis(service.url)).rejects.toThrow(EvictionError);
      const to = queue();
      let refusal: unknown;
      await until(async () => {
        refusal = await to.deliver([usageRecord('r1')], 'j').catch((thrown: unknown) => thrown);
        return refusal instanceof EvictionError;
      });
      expect(await worker().health()).toMatch(/noeviction|redis is/);
    } finally {
      await redis.config('SET', 'maxmemory-policy', 'noeviction');
    }
  });

  it('E07: a Redis that is full refuses, and the record stays where it was', async () => {
    const to = queue();
    await deliver(to, [usageRecord('r0')], 'j');
    await redis.config('SET', 'maxmemory', '1mb');
    try {
      await expect(to.deliver([usageRecord('r1', { settleSequence: 8 })], 'j')).rejects.toThrow(/OOM/);
    } finally {
      await redis.config('SET', 'maxmemory', '0');
    }
  });
});

it('a Redis that was never there is no reason not to start', async () => {
  expect(await checkRedis('redis://127.0.0.1:1')).toBe(false);
  const to = new UsageQueue({ url: 'redis://127.0.0.1:1', onError: () => undefined });
  // What the log says is why, and not that nothing can be written.
  await expect(to.deliver([usageRecord('r1')], 'j')).rejects.toThrow('connect ECONNREFUSED 127.0.0.1:1');
  await to.close();
});
