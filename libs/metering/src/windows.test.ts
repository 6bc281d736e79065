import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { dayOf, subjectName, windowOf, type BudgetSubject } from './windows.js';

const DAY_MS = 86_400_000;

/** Any moment that a date of four digits has a name for. */
const MOMENT = fc.integer({ min: 0, max: Date.UTC(9999, 11, 31, 23, 59, 59, 999) });

const two = (n: number) => String(n).padStart(2, '0');

/** Where a window begins by its name, and where the next one does. */
function boundsOf(window: string): readonly [number, number] {
  const [, year, month, day] = /^(?:day|month):(\d{4})-(\d\d)(?:-(\d\d))?$/.exec(window) ?? [];
  const at = [Number(year), Number(month) - 1] as const;
  return day === undefined
    ? [Date.UTC(...at), Date.UTC(at[0], at[1] + 1)]
    : [Date.UTC(...at, Number(day)), Date.UTC(...at, Number(day) + 1)];
}

describe('the windows of a moment', () => {
  it.each([
    ['a day', '2026-03-31T12:00:00.000Z', 'day:2026-03-31', 'month:2026-03'],
    ['the millisecond before midnight', '2026-05-14T23:59:59.999Z', 'day:2026-05-14', 'month:2026-05'],
    ['midnight', '2026-05-15T00:00:00.000Z', 'day:2026-05-15', 'month:2026-05'],
    ['midnight elsewhere', '2026-05-15T00:00:00.000+09:00', 'day:2026-05-14', 'month:2026-05'],
    ['the end of a month', '2026-04-30T23:59:59.999Z', 'day:2026-04-30', 'month:2026-04'],
    ['the first of a month', '2026-05-01T00:00:00.000Z', 'day:2026-05-01', 'month:2026-05'],
    ['the end of February', '2027-02-28T23:59:59.999Z', 'day:2027-02-28', 'month:2027-02'],
    ['the day after it', '2027-03-01T00:00:00.000Z', 'day:2027-03-01', 'month:2027-03'],
    ['the day before a leap day', '2028-02-28T23:59:59.999Z', 'day:2028-02-28', 'month:2028-02'],
    ['a leap day', '2028-02-29T00:00:00.000Z', 'day:2028-02-29', 'month:2028-02'],
    ['the end of a leap day', '2028-02-29T23:59:59.999Z', 'day:2028-02-29', 'month:2028-02'],
    ['the day after a leap day', '2028-03-01T00:00:00.000Z', 'day:2028-03-01', 'month:2028-03'],
    ['a century without a leap day', '2100-03-01T00:00:00.000Z', 'day:2100-03-01', 'month:2100-03'],
    ['the end of a year', '2026-12-31T23:59:59.999Z', 'day:2026-12-31', 'month:2026-12'],
    ['a new year', '2027-01-01T00:00:00.000Z', 'day:2027-01-01', 'month:2027-01'],
    ['clocks that are put forward', '2026-03-08T07:30:00.000Z', 'day:2026-03-08', 'month:2026-03'],
    ['clocks that are put back', '2026-11-01T05:30:00.000Z', 'day:2026-11-01', 'month:2026-11'],
    ['the epoch', '1970-01-01T00:00:00.000Z', 'day:1970-01-01', 'month:1970-01'],
  ])('%s', (_, moment, day, month) => {
    const at = Date.parse(moment);
    expect(dayOf(at)).toBe(day.slice('day:'.length));
    expect(['day', 'month', 'total'].map((each) => windowOf(each as 'day', at))).toEqual([
      day,
      month,
      'total',
    ]);
  });

  it('hold it, from their first millisecond to the one before the next, and no other does', () => {
    fc.assert(
      fc.property(MOMENT, fc.constantFrom('day', 'month'), (at, period) => {
        const window = windowOf(period, at);
        const [start, next] = boundsOf(window);
        expect(start <= at && at < next).toBe(true);
        expect([windowOf(period, start), windowOf(period, next - 1)]).toEqual([window, window]);
        expect(windowOf(period, start - 1)).not.toBe(window);
        expect(windowOf(period, next)).not.toBe(window);
        expect(windowOf('total', at)).toBe('total');
      }),
    );
  });

  it('are those of UTC wherever the process runs, and a day lies in one month', () => {
    fc.assert(
      fc.property(MOMENT, (at) => {
        const utc = new Date(at);
        const month = `${String(utc.getUTCFullYear()).padStart(4, '0')}-${two(utc.getUTCMonth() + 1)}`;
        expect(dayOf(at)).toBe(`${month}-${two(utc.getUTCDate())}`);
        expect(windowOf('month', at)).toBe(`month:${month}`);
        const [start, next] = boundsOf(windowOf('day', at));
        expect(next - start).toBe(DAY_MS);
        expect(new Set([start, next - 1].map((each) => windowOf('month', each))).size).toBe(1);
      }),
    );
  });

  it('sort as time does', () => {
    fc.assert(
      fc.property(MOMENT, MOMENT, fc.constantFrom('day', 'month'), (a, b, period) => {
        const [early, late] = a <= b ? [a, b] : [b, a];
        expect(windowOf(period, early) <= windowOf(period, late)).toBe(true);
      }),
    );
  });
});

it('no two subjects share a name', () => {
  const word = fc.string({ maxLength: 8 });
  const subject: fc.Arbitrary<BudgetSubject> = fc.oneof(
    fc.record({ scope: fc.constant('tenant' as const), tenant: word }),
    fc.record({ scope: fc.constant('key' as const), tenant: word, key: word }),
    fc.record({ scope: fc.constant('model' as const), tenant: word, model: word }),
  );
  fc.assert(
    fc.property(subject, subject, (a, b) => {
      expect(subjectName(a) === subjectName(b)).toBe(JSON.stringify(a) === JSON.stringify(b));
    }),
  );
});
