import type { EventBatch } from '@turnpike/background';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { EventFrame } from '@turnpike/protocol';
import { setImmediate } from 'node:timers/promises';
import { EventLog } from './event-log.js';

const frame = (json: string, type: EventFrame['type'] = 'response.output_text.delta'): EventFrame => ({
  type,
  json,
});

/** A log, what it has kept, and a place where keeping can be made to fail or to wait. */
function setUp(most = 1_000_000_000) {
  const kept: EventBatch[] = [];
  const state = { answer: (): boolean | Promise<boolean> => true, isDropped: false, failures: 0 };
  const log = new EventLog({
    sequence: 2,
    most,
    write: async (batch) => {
      const isWanted = await state.answer();
      if (isWanted) kept.push(batch);
      return isWanted;
    },
    drop: () => {
      state.isDropped = true;
      return Promise.resolve();
    },
    onFailure: () => (state.failures += 1),
  });
  return { log, kept, state };
}

async function pass(ms: number): Promise<void> {
  jest.advanceTimersByTime(ms);
  await setImmediate();
}

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
});
afterEach(() => {
  jest.useRealTimers();
});

describe('events', () => {
  it('are kept at once when it is quiet, and otherwise in batches', async () => {
    const { log, kept } = setUp();
    log.send([frame('a'), frame('b')]);
    await pass(0);
    expect(kept).toEqual([{ first: 2, events: ['a', 'b'] }]);
    for (let tick = 0; tick < 100; tick++) {
      log.send([frame('c')]);
      await pass(10);
    }
    await log.flush();
    expect(kept.length).toBeLessThan(10);
    expect(kept.flatMap(({ events }) => events)).toHaveLength(102);
    expect(kept.map(({ first }) => first)).toEqual(
      kept.map((_, index) => 2 + kept.slice(0, index).reduce((sum, { events }) => sum + events.length, 0)),
    );
  });

  it('are kept now when that is asked for', async () => {
    const { log, kept } = setUp();
    log.send([frame('a')]);
    await pass(0);
    log.send([frame('b')]);
    await log.flush();
    expect(kept).toEqual([
      { first: 2, events: ['a'] },
      { first: 3, events: ['b'] },
    ]);
    await log.flush();
    expect(kept).toHaveLength(2);
  });

  it('that end a response are made from it, and not kept', async () => {
    const { log, kept } = setUp();
    log.send([frame('done', 'response.completed')]);
    log.send([frame('a')]);
    await log.flush();
    expect(kept).toEqual([{ first: 2, events: ['a'] }]);
  });
});

describe('a write that fails', () => {
  it('is tried again with everything that came meanwhile, in order', async () => {
    const { log, kept, state } = setUp();
    state.answer = () => Promise.reject(new Error('down'));
    log.send([frame('a')]);
    await pass(0);
    log.send([frame('b')]);
    await pass(1_000);
    expect([state.failures, kept]).toEqual([2, []]);
    state.answer = () => true;
    await pass(1_000);
    expect(kept).toEqual([{ first: 2, events: ['a', 'b'] }]);
  });

  it('makes those wait who write faster than can be kept, until it is over or nothing is wanted', async () => {
    const { log, state } = setUp();
    state.answer = () => Promise.reject(new Error('down'));
    const waits: string[] = [];
    const waitFor = (name: string) => log.ready()?.then(() => waits.push(name));
    log.send([frame('x'.repeat(1024 * 1024))]);
    expect(log.ready()).toBeUndefined();
    log.send([frame('y')]);
    void waitFor('room');
    await pass(1_000);
    expect(waits).toEqual([]);
    state.answer = () => true;
    await pass(1_000);
    expect([waits, log.ready()]).toEqual([['room'], undefined]);

    state.answer = () => Promise.reject(new Error('down'));
    log.send([frame('x'.repeat(1024 * 1024 + 1))]);
    void waitFor('close');
    log.close();
    await setImmediate();
    expect([waits, log.ready()]).toEqual([['room', 'close'], undefined]);
  });

  it('does not keep a flush waiting for one that is closed', async () => {
    const { log, state } = setUp();
    state.answer = () => Promise.reject(new Error('down'));
    log.send([frame('a')]);
    const flushed = log.flush();
    await pass(0);
    log.close();
    await flushed;
    expect(state.failures).toBe(1);
  });
});

describe('what is not wanted', () => {
  it('is not sent any more', async () => {
    const { log, state } = setUp();
    let asked = 0;
    state.answer = () => {
      asked += 1;
      return false;
    };
    log.send([frame('a')]);
    await log.flush();
    log.send([frame('b')]);
    await log.flush();
    expect(asked).toBe(1);
  });

  it('is everything of a response that is too long', async () => {
    const { log, kept, state } = setUp(5);
    log.send([frame('abc')]);
    await pass(0);
    expect(kept).toHaveLength(1);
    log.send([frame('def')]);
    log.send([frame('g')]);
    await log.flush();
    expect([kept.length, state.isDropped, log.ready()]).toEqual([1, true, undefined]);
  });
});
