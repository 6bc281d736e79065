import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { Changes } from './changes.js';

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
});
afterEach(() => {
  jest.useRealTimers();
});

it('is heard of by everybody who waits for that response, or else it is time to look', async () => {
  const changes = new Changes();
  const gone = new AbortController();
  const heard: string[] = [];
  const wait = (name: string, id: string, signal?: AbortSignal) =>
    void changes.next(id, 1_000, signal).happened.then(() => heard.push(name));
  wait('first', 'resp_1');
  wait('second', 'resp_1');
  wait('other', 'resp_2');
  wait('gone', 'resp_3', gone.signal);
  changes.changed('resp_1');
  await setImmediate();
  expect(heard).toEqual(['first', 'second']);
  gone.abort();
  await setImmediate();
  expect(heard).toEqual(['first', 'second', 'gone']);
  jest.advanceTimersByTime(1_000);
  await setImmediate();
  expect(heard).toEqual(['first', 'second', 'gone', 'other']);
});

it('leaves nothing behind when it is forgotten', async () => {
  const changes = new Changes();
  const change = changes.next('resp_1', 1_000);
  change.forget();
  await change.happened;
  expect(jest.getTimerCount()).toBe(0);
});
