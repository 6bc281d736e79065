import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { segmentsIn } from '@turnpike/append-log';
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Journals } from './journal/journals.js';
import { lineOf } from './journal/line.js';
import { pendingIn } from './journal/pending.js';
import { DEFAULT_PRICES } from './price-book.js';
import { Relay, type RelayOptions } from './relay.js';
import { settlement } from './testing/settlement.js';
import type { UsageRecord } from './usage-record.js';

let root: string;
let journals: Journals;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'turnpike-relay-'));
  journals = new Journals({ root, prices: DEFAULT_PRICES, maxBytes: 1e9, onSettle: () => undefined });
});
afterEach(async () => {
  await journals.close();
  rmSync(root, { recursive: true, force: true });
});

const settle = (id: string) => journals.own.settle(settlement(id));

function relay(
  deliver: (records: readonly UsageRecord[], journal: string) => Promise<void>,
  options: Partial<RelayOptions> = {},
): Relay {
  const sink = { deliver };
  return new Relay({ readers: () => journals.readers, sink, lingerMs: 1, backOffMs: 1, ...options });
}

it('delivers in batches, in order, each once when nothing fails', async () => {
  for (let n = 0; n < 25; n++) settle(`r${n}`);
  const batches: string[][] = [];
  const running = relay(
    (records, journal) => {
      expect(journal).toBe(journals.own.name);
      batches.push(records.map(({ id }) => id));
      return Promise.resolve();
    },
    { batch: 10 },
  );
  expect(await running.flush()).toBe(true);
  expect(batches.map(({ length }) => length)).toEqual([10, 10, 5]);
  expect(batches.flat()).toEqual(Array.from({ length: 25 }, (_, n) => `r${n}`));
  await running.flush();
  expect(batches).toHaveLength(3);
});

it('E06: goes on by itself once what it delivers to is back, and says so once', async () => {
  let isDown = true;
  const arrived = new Set<string>();
  const said: unknown[] = [];
  let tries = 0;
  const running = relay(
    (records) => {
      tries++;
      if (isDown) return Promise.reject(new Error('connection refused'));
      for (const { id } of records) arrived.add(id);
      return Promise.resolve();
    },
    { onFailure: (error) => said.push(error instanceof Error ? error.message : error) },
  );
  settle('a');
  running.poke();
  while (tries < 3) await new Promise((resolve) => setTimeout(resolve, 2));
  expect(running.failure).toBeInstanceOf(Error);
  settle('b');
  isDown = false;
  while (arrived.size < 2) await new Promise((resolve) => setTimeout(resolve, 2));
  await running.stop();
  expect([...arrived]).toEqual(['a', 'b']);
  expect(said).toEqual(['connection refused', undefined]);
  expect(running.failure).toBeUndefined();
});

it('what was poked while it ran is delivered as well, and drains never overlap', async () => {
  let inside = 0;
  const arrived: string[] = [];
  const running = relay(async (records) => {
    expect(++inside).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 5));
    arrived.push(...records.map(({ id }) => id));
    inside--;
  });
  settle('a');
  running.poke();
  const flushed = Promise.all([running.flush(), running.flush()]);
  settle('b');
  running.poke();
  await flushed;
  while (arrived.length < 2) await new Promise((resolve) => setTimeout(resolve, 2));
  expect(arrived).toEqual(['a', 'b']);
  await running.stop();
});

it('reports what is no usage record, and goes on behind it', async () => {
  settle('a');
  const [segment = ''] = segmentsIn(journals.own.folder);
  const odd = { ...settle('b'), tenant: 7 } as unknown as UsageRecord;
  appendFileSync(join(journals.own.folder, segment), lineOf({ kind: 'settle', record: odd }, 3));
  const arrived: string[] = [];
  const faults: string[] = [];
  const running = relay(
    (records) => {
      arrived.push(...records.map(({ id }) => id));
      return Promise.resolve();
    },
    { onFault: ({ kind, detail }) => void faults.push(`${kind} ${detail}`) },
  );
  await running.flush();
  expect(arrived).toEqual(['a', 'b']);
  expect(faults).toEqual([expect.stringMatching(/^unreadable not a usage record: tenant/)]);
});

it('follows what it delivered until that has arrived, and delivers again what was lost on the way', async () => {
  const queue = new Map<string, 'waiting' | 'arrived'>();
  const delivered: string[] = [];
  const lost: number[] = [];
  let ends = 0;
  const name = (records: readonly UsageRecord[]) => records.map(({ id }) => id).join();
  const running = new Relay({
    readers: () => journals.readers,
    sink: {
      deliver(records, _journal, again = false) {
        delivered.push(`${name(records)}${again ? ' again' : ''}`);
        queue.set(name(records), 'waiting');
        return Promise.resolve();
      },
      whereIs: (records) => Promise.resolve(queue.get(name(records)) ?? 'lost'),
    },
    lingerMs: 1,
    followMs: 1,
    batch: 2,
    onLost: (count) => lost.push(count),
    onEnd: () => Promise.resolve(void ends++),
  });
  const written = () => pendingIn(root).then((ids) => [...ids].sort().join());
  for (const id of ['a', 'b', 'c', 'd', 'e']) settle(id);
  await running.flush();
  await running.flush();
  expect([delivered, ends, await written()]).toEqual([['a,b', 'c,d', 'e'], 0, 'a,b,c,d,e']);
  queue.set('a,b', 'arrived');
  queue.set('e', 'arrived');
  await running.flush();
  // In their order: what is behind something that waits does too.
  expect([delivered.length, await written()]).toEqual([3, 'c,d,e']);
  queue.clear();
  queue.set('e', 'arrived');
  settle('f');
  running.poke();
  while (delivered.length < 5) await new Promise((resolve) => setTimeout(resolve, 2));
  expect([delivered.slice(3).sort(), lost]).toEqual([['c,d again', 'f'], [2]]);
  for (const each of queue.keys()) queue.set(each, 'arrived');
  while (ends === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  expect([await written(), delivered.length]).toEqual(['', 5]);
  await running.stop();
});

it('what another process has delivered and not followed to its end is delivered by the next one', async () => {
  settle('a');
  const delivered: string[] = [];
  const sink = {
    deliver: (records: readonly UsageRecord[]) =>
      Promise.resolve(void delivered.push(...records.map(({ id }) => id))),
    whereIs: () => Promise.resolve('waiting' as const),
  };
  await new Relay({ readers: () => journals.readers, sink }).stop();
  await journals.close();
  journals = new Journals({ root, prices: DEFAULT_PRICES, maxBytes: 1e9, onSettle: () => undefined });
  await journals.adopt();
  await new Relay({ readers: () => journals.readers, sink }).stop();
  expect(delivered).toEqual(['a', 'a']);
});
