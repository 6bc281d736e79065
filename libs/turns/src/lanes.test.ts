import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LANE_LIMITS, LaneScheduler, type LaneId } from './lanes.js';

describe('LaneScheduler', () => {
  it('runs one job a lane, first in, first out, and lanes beside each other', () => {
    const lanes = new LaneScheduler<string>();
    expect(lanes.submit(undefined, 'default 1')).toEqual({ kind: 'start' });
    expect(lanes.submit(undefined, 'default 2')).toEqual({ kind: 'queue' });
    expect(lanes.submit('a', 'a 1')).toEqual({ kind: 'start' });
    expect(lanes.submit(undefined, 'default 3')).toEqual({ kind: 'queue' });
    expect([lanes.running, lanes.queued]).toEqual([2, 2]);
    expect(lanes.finish(undefined)).toEqual({ lane: undefined, job: 'default 2' });
    expect(lanes.finish('a')).toBeUndefined();
    expect(lanes.finish(undefined)).toEqual({ lane: undefined, job: 'default 3' });
    expect(lanes.finish(undefined)).toBeUndefined();
    expect([lanes.running, lanes.queued]).toEqual([0, 0]);
  });

  it('runs 16 at once and lets waiting lanes go in turn', () => {
    const lanes = new LaneScheduler<string>();
    for (let index = 0; index < 16; index += 1) lanes.submit(`s${index}`, 'first');
    for (const job of ['x1', 'x2']) expect(lanes.submit('x', job)).toEqual({ kind: 'queue' });
    for (const job of ['y1', 'y2']) lanes.submit('y', job);
    lanes.submit('s0', 'again');
    expect(lanes.finish('s0')).toEqual({ lane: 'x', job: 'x1' });
    expect(lanes.finish('x')).toEqual({ lane: 'y', job: 'y1' });
    expect(lanes.finish('y')).toEqual({ lane: 's0', job: 'again' });
    expect(lanes.finish('s0')).toEqual({ lane: 'x', job: 'x2' });
    expect(lanes.finish('x')).toEqual({ lane: 'y', job: 'y2' });
  });

  it('refuses the 33rd name for good, and never the default lane or a known name', () => {
    const lanes = new LaneScheduler<number>();
    for (let index = 0; index < 32; index += 1) {
      lanes.submit(`s${index}`, index);
      if (index < 16) lanes.finish(`s${index}`);
    }
    for (let index = 16; index < 32; index += 1) lanes.finish(`s${index}`);
    const refusal = { kind: 'refuse', code: 'websocket_stream_limit_reached' };
    expect(lanes.submit('s32', 0)).toEqual(refusal);
    expect(lanes.submit('s5', 0)).toEqual({ kind: 'start' });
    expect(lanes.submit(undefined, 0)).toEqual({ kind: 'start' });
    expect(lanes.submit('s33', 0)).toEqual(refusal);
  });

  it('refuses what does not fit in the queue, without using up a name', () => {
    const lanes = new LaneScheduler<number>({ ...LANE_LIMITS, running: 1, named: 1, queued: 2 });
    for (let job = 0; job < 3; job += 1) lanes.submit(undefined, job);
    expect(lanes.submit('a', 3)).toEqual({ kind: 'refuse', code: 'too_many_queued_responses' });
    expect(lanes.submit(undefined, 3)).toEqual({ kind: 'refuse', code: 'too_many_queued_responses' });
    lanes.finish(undefined);
    expect(lanes.submit('b', 4)).toEqual({ kind: 'queue' });
  });

  it('refuses what waits with too many bytes, and counts no bytes of what runs', () => {
    const lanes = new LaneScheduler<string>({ ...LANE_LIMITS, queuedBytes: 10 });
    const refusal = { kind: 'refuse', code: 'too_many_queued_responses' };
    expect(lanes.submit('a', 'runs', 1_000)).toEqual({ kind: 'start' });
    expect(lanes.submit('a', 'waits', 6)).toEqual({ kind: 'queue' });
    expect(lanes.submit('a', 'too much', 5)).toEqual(refusal);
    expect(lanes.submit('a', 'fits', 4)).toEqual({ kind: 'queue' });
    expect(lanes.submit('a', 'one more', 1)).toEqual(refusal);
    lanes.finish('a');
    expect(lanes.submit('a', 'instead', 6)).toEqual({ kind: 'queue' });
    lanes.clear();
    expect(lanes.submit('a', 'all of it', 10)).toEqual({ kind: 'queue' });
  });

  it('drops what waits on clear and lets what runs end', () => {
    const lanes = new LaneScheduler<string>();
    for (const job of ['1', '2', '3']) lanes.submit('a', job);
    expect(lanes.clear()).toEqual(['2', '3']);
    expect(lanes.queued).toBe(0);
    expect(lanes.finish('a')).toBeUndefined();
    expect(() => lanes.finish('a')).toThrow("Nothing runs in lane 'a'.");
    expect(() => lanes.finish(undefined)).toThrow("Nothing runs in lane 'default'.");
  });

  it('keeps order, limits and no place idle under any sequence of submits and ends', () => {
    const lane = fc.option(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { nil: undefined });
    const step = fc.record({ lane, submit: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const limits = { ...LANE_LIMITS, running: 3 };
        const lanes = new LaneScheduler<number>(limits);
        const waiting = new Map<LaneId, number[]>();
        const running = new Set<LaneId>();
        const start = (id: LaneId) => {
          expect(running.has(id)).toBe(false);
          running.add(id);
        };
        steps.forEach(({ lane: id, submit }, job) => {
          if (submit) {
            if (lanes.submit(id, job).kind === 'start') start(id);
            else waiting.set(id, [...(waiting.get(id) ?? []), job]);
          } else if (running.delete(id)) {
            const next = lanes.finish(id);
            if (next) {
              expect(next.job).toBe(waiting.get(next.lane)?.shift());
              start(next.lane);
            }
          }
          expect(lanes.running).toBe(running.size);
          expect(running.size).toBeLessThanOrEqual(limits.running);
          const couldRun = [...waiting].some(([lane, jobs]) => jobs.length > 0 && !running.has(lane));
          if (couldRun) expect(running.size).toBe(limits.running);
        });
      }),
    );
  });
});
