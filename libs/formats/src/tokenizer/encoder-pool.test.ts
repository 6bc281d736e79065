import { afterEach, describe, expect, it } from '@jest/globals';
import { INLINE_UNITS, TokenEncoder } from './encoder-pool.js';
import { o200kHarmony } from './o200k-harmony.js';

/**
 * A stand-in for the compiled worker: the id of a text is its first letter's code, so that results can be told
 * apart. 'boom' throws, 'exit' ends the thread, 'never' is not answered, and 'dropped' is answered with
 * the numbers of the jobs given up, as letters.
 */
const workerUrl = new URL(
  'data:text/javascript,' +
    encodeURIComponent(`
      import { parentPort, workerData } from 'node:worker_threads';
      if (workerData.vocabulary !== 'o200k_harmony' || workerData.fingerprint !== 'o200k_harmony') throw new Error('wrong vocabulary');
      const dropped = [];
      parentPort.on('message', ({ id, texts }) => {
        if (texts === undefined) return void dropped.push(id);
        if (texts.some((text) => text.startsWith('boom'))) throw new Error('boom');
        if (texts.some((text) => text.startsWith('exit'))) process.exit();
        if (texts.some((text) => text.startsWith('never'))) return;
        if (texts[0].startsWith('dropped')) texts = dropped.map((number) => String.fromCharCode(96 + number));
        const ids = Int32Array.from(texts.flatMap((text) => [text.charCodeAt(0), texts.length]));
        parentPort.postMessage({ id, ids, lengths: Int32Array.from(texts, () => 2) });
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

  it('gives up a job whose signal ends, and tells the thread', async () => {
    const gone = new AbortController();
    const job = Promise.resolve(encoder.encodeAll([large('never')], gone.signal));
    const other = Promise.resolve(encoder.encodeAll([large('o')], new AbortController().signal));
    const reason = new Error('gone');
    gone.abort(reason);
    await expect(job).rejects.toBe(reason);
    expect(firstIds(await other)).toBe('o');
    expect(firstIds(await encoder.encodeAll([large('dropped')]))).toBe('a');
    await expect(Promise.resolve(encoder.encodeAll([large('x')], gone.signal))).rejects.toBe(reason);
  });

  it.each(['boom', 'exit'])(
    'rejects the jobs of a worker that fails (%s) and starts another worker',
    async (word) => {
      const failing = Promise.resolve(encoder.encodeAll([large(word)]));
      await expect(failing).rejects.toThrow(word === 'boom' ? 'boom' : 'ended');
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
