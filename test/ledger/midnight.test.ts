import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Ledger, SqlHolds } from '@turnpike/ledger';
import {
  Meter,
  PriceBook,
  type Budget,
  type Period,
  type TurnMeter,
  type UsageRecord,
} from '@turnpike/metering';
import { KINDS, TestDatabases } from '../storage/databases.js';

/** A thousand nano-dollars a token, and twice that from the first of the next month on. */
const PRICES = PriceBook.parse(`
versions:
  - { version: old, from: "2027-01-01", models: { m: { input: 1, output: 1 } } }
  - { version: new, from: "2028-03-01", models: { m: { input: 2, output: 2 } } }
`);
const LAST_MOMENT = Date.parse('2028-02-29T23:59:59.999Z');
const MIDNIGHT = LAST_MOMENT + 1;
const DAY_MS = 86_400_000;

/** Through all of what counts money: the meter of a turn, what is held for it, and the ledger. */
describe.each(KINDS)('turns about midnight, on %s', (kind) => {
  let databases: TestDatabases;
  let ledger: Ledger;
  let now: number;
  let turns: number;
  beforeAll(async () => {
    databases = await TestDatabases.start(kind);
  });
  afterAll(() => databases.stop());
  beforeEach(async () => {
    ledger = await Ledger.open(await databases.empty(), kind);
    now = LAST_MOMENT;
    turns = 0;
  });

  const budget = (period: Period, limit: number): Budget => ({
    name: `a ${period}'s`,
    subject: { scope: 'tenant', tenant: 't' },
    period,
    limit,
    shadow: false,
  });

  /** Meters turns of one tenant with these budgets, by the clock of the test. */
  function meterOf(...budgets: Budget[]): Meter {
    return new Meter({
      journal: {
        isFull: false,
        admit: () => 1,
        progress: () => true,
        settle: (record) => ({ ...record, journal: 'j', settleSequence: 2 }),
      },
      prices: PRICES,
      progressTokens: 64,
      holdOutputTokens: 20,
      budgets: { budgetsOf: () => budgets },
      holds: new SqlHolds(ledger.db, { kind, leaseMs: 60_000 }),
      now: () => now,
    });
  }

  function begin(meter: Meter): TurnMeter {
    return meter.begin({
      id: `r${++turns}`,
      tenant: 't',
      key: 'k',
      model: 'm',
      lane: null,
      transport: 'http',
      serviceTier: 'default',
      stored: false,
    });
  }

  /** Holds ten tokens of a prompt and so many of an answer. */
  const hold = (turn: TurnMeter, maxOutput?: number) =>
    turn.hold({ purpose: 'answer', prompt: 10, image: 0, room: 1_000, maxOutput });

  function answered(turn: TurnMeter, output: number): UsageRecord {
    void turn.dispatch({ purpose: 'answer', engine: 'e', route: 'm', prompt: 10, read: 10, image: 0 });
    turn.requested();
    void turn.take(output);
    turn.finished();
    const record = turn.settle({
      outcome: 'completed',
      reason: null,
      usage: { cached: 0, cacheWrite: 0, reasoning: 0 },
      stages: {},
    });
    if (record === undefined) throw new Error('it used nothing');
    return record;
  }

  /** What the tenant has in each window, `[spent, held]` in tokens of the old price. */
  async function windows(): Promise<Record<string, readonly [number, number]>> {
    const rows = await ledger.db
      .selectFrom('ledger_spend')
      .select(['time_window', 'spent', 'held'])
      .where('subject', '=', '["tenant","t"]')
      .orderBy('time_window')
      .execute();
    return Object.fromEntries(rows.map((row) => [row.time_window, [row.spent / 1e3, row.held / 1e3]]));
  }

  it('are held, priced and booked in the day and the month that they began in, whenever they end', async () => {
    const turn = begin(meterOf(budget('day', 40_000), budget('month', 40_000)));
    await hold(turn, 30);
    const held = { 'day:2028-02-29': [0, 40], 'month:2028-02': [0, 40] };
    expect(await windows()).toEqual(held);
    now = MIDNIGHT + 5_000;
    const record = answered(turn, 20);
    expect(record).toMatchObject({
      admittedAt: LAST_MOMENT,
      settledAt: now,
      priceVersion: 'old',
      amount: 30_000,
    });
    now += 2 * DAY_MS;
    await ledger.book([record]);
    expect(await windows()).toEqual({ 'day:2028-02-29': [30, 0], 'month:2028-02': [30, 0], total: [30, 0] });
    const [row] = await ledger.db.selectFrom('ledger_usage').select('day').execute();
    expect(row?.day).toBe('2028-02-29');
    expect(await ledger.verify()).toEqual([]);
  });

  it('hold more where they began, and end with the budget of that day', async () => {
    const meter = meterOf(budget('day', 40_000));
    const turn = begin(meter);
    await hold(turn);
    now = MIDNIGHT;
    await turn.dispatch({ purpose: 'answer', engine: 'e', route: 'm', prompt: 10, read: 10, image: 0 });
    for (let taken = 0; taken < 40 && !turn.isExhausted; taken += 4) {
      await turn.take(4);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(turn.isExhausted).toBe(true);
    expect(Object.keys(await windows())).toEqual(['day:2028-02-29']);
    // The new day has all of its own, though what ran into it used up the last one.
    await hold(begin(meter), 10);
    expect((await windows())['day:2028-03-01']).toEqual([0, 40]);
  });

  it('have all of a new day, and what is left of a month', async () => {
    now = Date.parse('2028-02-28T23:59:59.999Z');
    const meter = meterOf(budget('day', 40_000), budget('month', 50_000), budget('total', 80_000));
    const first = begin(meter);
    await hold(first, 30);
    await ledger.book([answered(first, 30)]);
    await expect(hold(begin(meter), 0)).rejects.toThrow("budget 'a day's'");
    now += 1;
    // The day is fresh; the month has ten tokens left.
    await expect(hold(begin(meter), 1)).rejects.toThrow("budget 'a month's'");
    const second = begin(meter);
    await hold(second, 0);
    expect(await windows()).toEqual({
      'day:2028-02-28': [40, 0],
      'day:2028-02-29': [0, 10],
      'month:2028-02': [40, 10],
      total: [40, 10],
    });
    await ledger.book([answered(second, 0)]);
    // A new month is fresh, at its own price; what there is in total goes on.
    now = MIDNIGHT;
    await expect(hold(begin(meter), 11)).rejects.toThrow("budget 'a day's'");
    const third = begin(meter);
    await hold(third, 0);
    expect(await windows()).toMatchObject({
      'month:2028-02': [50, 0],
      'month:2028-03': [0, 20],
      total: [50, 20],
    });
    await ledger.book([answered(third, 0)]);
    now += DAY_MS;
    await expect(hold(begin(meter), 0)).rejects.toThrow("budget 'a total's'");
    expect(await ledger.verify()).toEqual([]);
  });

  it('that are refunded on a later day give the money back to the day that they began in', async () => {
    const meter = meterOf(budget('day', 40_000));
    const turn = begin(meter);
    await hold(turn, 30);
    await ledger.book([answered(turn, 30)]);
    now = MIDNIGHT;
    const refund = {
      id: '1',
      kind: 'refund',
      tenant: 't',
      responseId: 'r1',
      reason: 'x',
      author: 'ada',
    } as const;
    await ledger.decide({ ...refund, amount: 40_000n });
    expect(await windows()).toEqual({ 'day:2028-02-29': [0, 0], 'month:2028-02': [0, 0], total: [0, 0] });
  });
});
