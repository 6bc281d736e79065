import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { healthAfter, NEW_HEALTH, standingOf, type Health, type HealthEvent } from './index.js';

const FAILED: HealthEvent = { kind: 'failed' };
const UNREACHABLE: HealthEvent = { kind: 'unreachable' };
const ANSWERED: HealthEvent = { kind: 'answered' };
const BEGUN: HealthEvent = { kind: 'begun' };
const TRIED: HealthEvent = { kind: 'tried' };
const SEEN: HealthEvent = { kind: 'seen' };

/** Events at their times, from a health of which nothing is known. */
function after(...events: readonly (readonly [at: number, event: HealthEvent])[]): Health {
  return events.reduce((health, [at, event]) => healthAfter(health, event, at), NEW_HEALTH);
}

const five = (at = 0) => Array.from({ length: 5 }, () => [at, FAILED] as const);

describe('the circuit', () => {
  it('stays closed under fewer failures in a row than open it', () => {
    const health = after(...five().slice(1), [0, ANSWERED], ...five().slice(1));
    expect([health.circuit, standingOf(health, 0)]).toEqual(['closed', 'ready']);
  });

  it('opens after five failures in a row, and after a second lets one request find out', () => {
    const open = after(...five());
    expect([open.circuit, standingOf(open, 999), standingOf(open, 1000)]).toEqual([
      'open',
      'failing',
      'ready',
    ]);
    const trying = healthAfter(open, TRIED, 1000);
    expect([trying.circuit, standingOf(trying, 1000)]).toEqual(['half_open', 'failing']);
    expect(healthAfter(trying, ANSWERED, 1500)).toEqual(NEW_HEALTH);
  });

  it('closes as soon as the answer begins, and opens for longer if that ends badly', () => {
    const begun = after(...five(), [1000, TRIED], [1100, BEGUN]);
    expect([begun.circuit, standingOf(begun, 1100)]).toEqual(['closed', 'ready']);
    const open = healthAfter(begun, FAILED, 1200);
    expect([open.circuit, open.retryAt]).toEqual(['open', 3200]);
  });

  it('lets another request find out when the first has no answer for long', () => {
    const trying = after(...five(), [1000, TRIED]);
    expect([standingOf(trying, 10_999), standingOf(trying, 11_000)]).toEqual(['failing', 'ready']);
  });

  it('opens at once where nobody is, twice as long each time in a row, up to half a minute', () => {
    let health = NEW_HEALTH;
    let at = 0;
    const waits: number[] = [];
    for (let time = 0; time < 7; time++) {
      health = healthAfter(healthAfter(health, TRIED, at), UNREACHABLE, at);
      waits.push(health.retryAt - at);
      expect(standingOf(health, at)).toBe('down');
      at = health.retryAt;
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    expect(healthAfter(health, ANSWERED, at).openings).toBe(0);
  });

  it('is not moved by requests that were under way when it opened', () => {
    const open = after(...five(), [10, FAILED], [20, FAILED]);
    expect([open.retryAt, open.openings]).toEqual([1000, 1]);
  });

  it('lets a request through as soon as an engine that was away is seen again', () => {
    const health = after([0, UNREACHABLE], [100, SEEN]);
    expect([health.circuit, standingOf(health, 100)]).toEqual(['open', 'ready']);
  });

  it('is not closed by being seen: an engine that answers with errors answers that, too', () => {
    const failing = after(...five());
    expect(healthAfter(failing, SEEN, 1)).toBe(failing);
  });
});

describe('an overload', () => {
  it('is no failure: the engine is spared for as long as it asks, and is well', () => {
    const health = after(...five().slice(1), [0, { kind: 'overloaded', retryAfterMs: 3_000 }]);
    expect([health.circuit, health.failures]).toEqual(['closed', 0]);
    expect([standingOf(health, 2_999), standingOf(health, 3_000)]).toEqual(['busy', 'ready']);
  });

  it('lasts no longer than a minute, and a shorter one does not end a longer one', () => {
    const health = after(
      [0, { kind: 'overloaded', retryAfterMs: 3_600_000 }],
      [1, { kind: 'overloaded', retryAfterMs: 1 }],
    );
    expect(health.busyUntil).toBe(60_000);
  });
});

it('whatever happens, an engine gets a request again within half a minute, and one answer makes it well', () => {
  const event = fc.oneof(
    fc.constantFrom(FAILED, UNREACHABLE, ANSWERED, BEGUN, TRIED, SEEN),
    fc.nat(120_000).map((retryAfterMs): HealthEvent => ({ kind: 'overloaded', retryAfterMs })),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(5_000), event)), (steps) => {
      let at = 0;
      let health = NEW_HEALTH;
      for (const [wait, each] of steps) {
        at += wait;
        health = healthAfter(health, each, at);
      }
      expect(['ready', 'busy']).toContain(standingOf(health, at + 30_000));
      expect(standingOf(healthAfter(health, ANSWERED, at), at + 60_000)).toBe('ready');
    }),
  );
});
