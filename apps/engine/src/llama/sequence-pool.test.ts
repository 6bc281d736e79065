import { expect, it } from '@jest/globals';
import { readdirSync } from 'node:fs';
import { FakeLlama } from '../../testing/fake-llama.js';
import { type LlamaSequence } from './node-llama-cpp.js';
import { sequenceCopy, type CopySequence } from './sequence-copy.js';
import { SequencePool } from './sequence-pool.js';

const { signal } = new AbortController();
const ROOT = [311, 312, 313, 314];

/** A pool of which one sequence holds a finished turn. */
async function poolWith(copy: CopySequence, count = 2) {
  const pool = new SequencePool(new FakeLlama().context(100, count), count, copy);
  const run = async (prompt: readonly number[]) => {
    const lease = await pool.acquire(prompt, '', signal);
    await lease.sequence.evaluateWithoutGeneratingNewTokens(prompt.slice(lease.kept));
    lease.release(400);
    return lease.kept;
  };
  await run(ROOT);
  return { pool, run };
}

it('lets nobody have a sequence while it is copied', async () => {
  let done: () => void = () => undefined;
  const copies: LlamaSequence[] = [];
  const { pool, run } = await poolWith(async (from, to) => {
    copies.push(from);
    await new Promise<void>((resolve) => (done = resolve));
    await from.saveStateToFile('/dev/null');
    await to.evaluateWithoutGeneratingNewTokens(from.contextTokens);
  });
  const fork = run([...ROOT, 351]);
  while (copies.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const next = pool.acquire([...ROOT, 400, 361], '', signal);
  expect(pool.waiting).toBe(1);
  done();
  expect(await fork).toBe(ROOT.length);
  const lease = await next;
  expect([lease.sequence === copies[0], lease.kept]).toEqual([true, ROOT.length + 1]);
});

it('evaluates everything where a copy fails, and does not try again', async () => {
  let tries = 0;
  const { run } = await poolWith(async () => {
    tries++;
    throw new Error('no space left');
  }, 3);
  expect(await run([...ROOT, 351])).toBe(0);
  expect(await run([...ROOT, 400, 361])).toBe(ROOT.length + 1);
  expect(await run([...ROOT, 400, 371])).toBe(ROOT.length + 1);
  expect(tries).toBe(1);
});

it('copies through memory, and leaves no file behind', async () => {
  const copy = sequenceCopy();
  expect(copy === undefined).toBe(process.platform !== 'linux');
  if (copy === undefined) return;
  const context = new FakeLlama().context(100, 2);
  const [from, to] = [context.getSequence(), context.getSequence()];
  await from.evaluateWithoutGeneratingNewTokens(ROOT);
  let named: string[] = [];
  const save = from.saveStateToFile.bind(from);
  from.saveStateToFile = (path) => {
    named = readdirSync('/dev/shm').filter((name) => name.startsWith('turnpike-engine-'));
    return save(path);
  };
  await copy(from, to);
  expect([to.contextTokens, named]).toEqual([ROOT, []]);
});
