import { expect, it, jest } from '@jest/globals';
import { Sweeper } from './sweeper.js';

it('sweeps at once, and waits for that when it is stopped', async () => {
  let finish: (removed: number) => void = () => undefined;
  const sweep = jest.fn(() => new Promise<number>((resolve) => (finish = resolve)));
  const sweeper = new Sweeper({ sweep }, () => undefined);
  expect(sweep).toHaveBeenCalledTimes(1);
  let stopped = false;
  const stop = sweeper.stop().then(() => (stopped = true));
  await Promise.resolve();
  expect(stopped).toBe(false);
  finish(3);
  await stop;
});

it('reports a sweep that failed', async () => {
  const failure = new Error('down');
  const onFailure = jest.fn();
  await new Sweeper({ sweep: () => Promise.reject(failure) }, onFailure).stop();
  expect(onFailure).toHaveBeenCalledWith(failure);
});
