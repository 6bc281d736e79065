import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { repeat } from './repeat.js';

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
});
afterEach(() => {
  jest.useRealTimers();
});

it('does its task at once and again, never twice at a time, and waits for it in the end', async () => {
  let finish: () => void = () => undefined;
  const task = jest.fn(() => new Promise<void>((resolve) => (finish = resolve)));
  const repeated = repeat(100, task, () => undefined);
  jest.advanceTimersByTime(1_000);
  expect(task).toHaveBeenCalledTimes(1);
  finish();
  await setImmediate();
  jest.advanceTimersByTime(100);
  expect(task).toHaveBeenCalledTimes(2);
  let isStopped = false;
  const stopped = repeated.stop().then(() => (isStopped = true));
  await setImmediate();
  expect(isStopped).toBe(false);
  finish();
  await stopped;
  jest.advanceTimersByTime(1_000);
  expect(task).toHaveBeenCalledTimes(2);
});

it('reports the first of failures that follow each other', async () => {
  const failing = { now: true };
  const onFailure = jest.fn();
  const task = () => (failing.now ? Promise.reject(new Error('down')) : Promise.resolve());
  const repeated = repeat(100, task, onFailure);
  const pass = async () => {
    await setImmediate();
    jest.advanceTimersByTime(100);
    await setImmediate();
  };
  await pass();
  expect(onFailure).toHaveBeenCalledTimes(1);
  failing.now = false;
  await pass();
  failing.now = true;
  await pass();
  expect(onFailure).toHaveBeenCalledTimes(2);
  await repeated.stop();
});
