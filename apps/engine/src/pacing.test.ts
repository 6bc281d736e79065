import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ManualScheduler } from '../testing/manual-scheduler.js';
import { Pacer, TokenSchedule, type Verdict } from './pacing.js';

describe('TokenSchedule', () => {
  it('counts exactly the tokens whose instant has come', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1e6, noNaN: true }),
        fc.integer({ min: 1, max: 100_000 }),
        fc.option(fc.record({ after: fc.nat(20), ms: fc.nat(1000) }), { nil: undefined }),
        fc.nat(500),
        (firstAt, tps, stall, index) => {
          const schedule = new TokenSchedule(firstAt, tps, stall);
          const count = schedule.dueCount(schedule.dueAt(index));
          expect(count).toBeGreaterThanOrEqual(index + 1);
          expect(schedule.dueAt(count)).toBeGreaterThan(schedule.dueAt(index));
        },
      ),
    );
  });

  it('has nothing due before the first token', () => {
    expect(new TokenSchedule(20, 1000).dueCount(19.9)).toBe(0);
    expect(new TokenSchedule(20, 1000).dueCount(20)).toBe(1);
  });

  it('pauses once, for as long as told', () => {
    const schedule = new TokenSchedule(0, 1000, { after: 5, ms: 100 });
    expect([4, 5, 104, 105, 106].map((now) => schedule.dueCount(now))).toEqual([5, 5, 5, 6, 7]);
  });
});

describe('Pacer', () => {
  function run(tps: number, verdicts: (due: number) => Verdict) {
    const scheduler = new ManualScheduler();
    const batches: number[] = [];
    const pacer = new Pacer(scheduler, new TokenSchedule(0, tps), (due) => {
      batches.push(due);
      return verdicts(due);
    });
    pacer.run();
    return { scheduler, batches, pacer };
  }

  it('emits a slow model token by token', () => {
    const { scheduler, batches } = run(50, (due) => (due >= 4 ? 'done' : 'more'));
    scheduler.pass(200);
    expect(batches).toEqual([1, 2, 3, 4]);
    expect(scheduler.idle).toBe(true);
  });

  it('emits all that is due of a fast model at once, and catches up after a late wake-up', () => {
    const { scheduler, batches } = run(4000, () => 'more');
    scheduler.pass(2);
    expect(batches).toEqual([1, 5, 9]);
    scheduler.leap(100);
    expect(batches.at(-1)).toBe(409);
  });

  it('does not drift: the schedule is absolute', () => {
    const { scheduler, batches } = run(333, () => 'more');
    for (let i = 0; i < 1000; i++) scheduler.leap(1 + (i % 3));
    expect(batches.at(-1)).toBe(Math.floor((scheduler.now() * 333) / 1000) + 1);
  });

  it('waits for its receiver, and then hands over what has become due', () => {
    const { scheduler, batches, pacer } = run(1000, (due) => (due === 3 ? 'wait' : 'more'));
    scheduler.pass(50);
    expect(batches).toEqual([1, 2, 3]);
    pacer.run();
    scheduler.leap(0);
    expect(batches).toEqual([1, 2, 3, 51]);
  });

  it('emits nothing after stop', () => {
    const { scheduler, batches, pacer } = run(1000, () => 'more');
    scheduler.pass(1);
    pacer.stop();
    pacer.run();
    scheduler.pass(10);
    expect(batches).toEqual([1, 2]);
  });
});
