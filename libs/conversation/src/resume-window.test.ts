import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ConnectionCache } from './connection-cache.js';
import { ResumeWindow } from './resume-window.js';
import { node } from './testing/nodes.js';

const LIMITS = { windowMs: 30_000, bytes: 10 };

function lost(...ids: string[]): ConnectionCache {
  const cache = new ConnectionCache('tenant', 100);
  for (const id of ids) cache.add(node(id), id);
  return cache;
}

describe('ResumeWindow', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('gives a response of a lost connection once, to its tenant', () => {
    const window = new ResumeWindow(LIMITS);
    window.park(lost('a', 'b'));
    expect(window.take('another', 'a')).toBeUndefined();
    expect(window.take('tenant', 'a')?.id).toBe('a');
    expect(window.take('tenant', 'a')).toBeUndefined();
    expect(window.take('tenant', 'b')?.id).toBe('b');
  });

  it('forgets when the time is over', () => {
    const window = new ResumeWindow(LIMITS);
    const cache = lost('a');
    window.park(cache);
    jest.advanceTimersByTime(29_999);
    expect(window.size).toBe(1);
    jest.advanceTimersByTime(1);
    expect([window.size, cache.size, window.take('tenant', 'a')]).toEqual([0, 0, undefined]);
  });

  it('forgets the oldest connection when there are too many bytes', () => {
    const window = new ResumeWindow(LIMITS);
    for (let index = 0; index < 11; index++) window.park(lost(`r${index}`));
    expect(window.size).toBe(10);
    expect(window.take('tenant', 'r0')).toBeUndefined();
    expect(window.take('tenant', 'r1')?.id).toBe('r1');
  });

  it('keeps nothing when it is off, when there is nothing, and of a connection that is too large', () => {
    const off = new ResumeWindow({ ...LIMITS, windowMs: 0 });
    off.park(lost('a'));
    const window = new ResumeWindow(LIMITS);
    window.park(lost());
    window.park(lost(...Array.from({ length: 11 }, (_, index) => `r${index}`)));
    expect([off.size, window.size]).toEqual([0, 0]);
  });
});
