import { afterEach, describe, expect, it } from '@jest/globals';
import { INLINE_UNITS, TokenEncoder } from './encoder-pool.js';
import { o200kHarmony } from './o200k-harmony.js';

/**
 * A stand-in for the compiled worker: the id of a text is its first letter's code, so that results can be told
 * apart. 'boom' throws, 'exit' ends the thread, and 'never' is not answered.
 */
const workerUrl = new URL(
  'data:text/javascript,' +
    encodeURIComponent(`
      import { parentPort, workerData } from 'node:worker_threads';
      if (workerData.vocabulary !== 'o200k_harmony') throw new Error('wrong vocabulary');
      parentPort.on('message', (texts) => {
        if (texts.some((text) => text.startsWith('boom'))) throw new Error('boom');
        if (texts.some((text) => text.startsWith('exit'))) process.exit();
        if (texts.some((text) => text.startsWith('never'))) return;
        const ids = Int32Array.from(texts.flatMap((text) => [text.charCodeAt(0), texts.length]));
        parentPort.postMessage({ ids, lengths: Int32Array.from(texts, () => 2) });
      });
    `),
);

const large = (start: string): string => start.padEnd(INLINE_UNITS + 1, '.');
const firstIds = (lists: Int32Array[]): string =>
  lists.map((list) => String.fromCharCode(list[0] ?? 0)).join('');

describe('TokenEncoder', () => {
  let encoder = new TokenEncoder(o200kHarmony(), { workerUrl });
  afterEach(async () => {
    await encoder.close();
    encoder = new TokenEncoder(o200kHarmony(), { workerUrl });
  });

  it('encodes small texts at once', () => {
    expect(encoder.encodeAll(['hello world', '', '<|start|>'])).toEqual([
      Int32Array.of(24912, 2375),
      new Int32Array(0),
      Int32Array.of(27, 91, 5236, 91, 29),
    ]);
    expect(Array.isArray(encoder.encodeAll(['x'.repeat(INLINE_UNITS)]))).toBe(true);
  });

  it('sends texts that are large together to the worker, many small ones in one message', async () => {
    const texts = Array.from({ length: 200 }, (_, i) => String.fromCharCode(97 + (i % 26)).repeat(100));
    const lists = encoder.encodeAll(texts);
    expect(lists).toBeInstanceOf(Promise);
    expect(firstIds(await lists)).toBe(texts.map((text) => text[0]).join(''));
    expect((await lists)[0]?.[1]).toBe(200);
  });

  it('lets a small job pass between the slices of a large one', async () => {
    const finished: string[] = [];
    const jobs = [
      Promise.resolve(encoder.encodeAll(Array.from({ length: 40 }, () => 'L'.repeat(60_000)))),
      Promise.resolve(encoder.encodeAll([large('s')])),
    ];
    const names = ['large', 'small'];
    await Promise.all(jobs.map(async (job, i) => job.then(() => finished.push(names[i] ?? ''))));
    expect(finished).toEqual(['small', 'large']);
    expect(firstIds((await jobs[0]) ?? [])).toBe('L'.repeat(40));
  });

  it.each(['boom', 'exit'])(
    'rejects the job whose worker fails (%s) and starts another worker',
    async (word) => {
      const failing = Promise.resolve(encoder.encodeAll([large(word)]));
      const waiting = Promise.resolve(encoder.encodeAll([large('w')]));
      await expect(failing).rejects.toThrow(word === 'boom' ? 'boom' : 'ended');
      expect(firstIds(await waiting)).toBe('w');
      expect(firstIds(await encoder.encodeAll([large('n')]))).toBe('n');
    },
  );

  it('rejects what is not done when it is closed', async () => {
    const jobs = [large('never'), large('x')].map(async (text) => encoder.encodeAll([text]));
    const outcomes = Promise.allSettled(jobs);
    await encoder.close();
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(Promise.resolve(encoder.encodeAll([large('y')]))).rejects.toThrow('closed');
    expect(encoder.encodeAll(['hello'])).toEqual([Int32Array.of(24912)]);
  });
});
