import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BudgetExceeded } from './allowance.js';
import type { Budget, HoldRequest, HoldResult, Holds } from './holds.js';
import type { JournalEntry } from './journal/line.js';
import { Meter, type MeterOptions } from './meter.js';
import { PriceBook } from './price-book.js';
import type { MeteredTurn } from './metered-turn.js';
import type { Dispatch, TurnEnd } from './turn-meter.js';
import type { UsageRecord } from './usage-record.js';

/** A nano-dollar a token of input, ten a token of output. */
const PRICES = PriceBook.parse(`
versions:
  - version: v
    from: "2026-01-01"
    models: { m: { input: 0.001, output: 0.01, cacheWrite: 0.002 } }
`);

/** Holds in memory, of one budget. */
class FakeHolds implements Holds {
  held = 0;
  ended: string[] = [];
  asked = 0;
  constructor(readonly limit: number) {}
  reserve({ amount }: HoldRequest, [budget]: readonly Budget[]): Promise<HoldResult> {
    this.asked++;
    if (budget === undefined) throw new Error('no budget');
    if (this.held + amount > this.limit) return Promise.resolve({ kind: 'refused', budget });
    this.held += amount;
    return Promise.resolve({ kind: 'held' });
  }
  extend(request: HoldRequest, budgets: readonly Budget[]): Promise<HoldResult> {
    return this.reserve(request, budgets);
  }
  settle(id: string, amount: number): Promise<void> {
    this.ended.push(`settle ${id} ${amount}`);
    return Promise.resolve();
  }
  release(id: string): Promise<void> {
    this.ended.push(`release ${id}`);
    return Promise.resolve();
  }
  renew(): Promise<void> {
    return Promise.resolve();
  }
}

const BUDGET: Budget = {
  name: 'b',
  subject: { scope: 'tenant', tenant: 't' },
  period: 'day',
  limit: 0,
  shadow: false,
};
const TURN: MeteredTurn = {
  id: 'r',
  tenant: 't',
  key: 'k',
  model: 'm',
  lane: null,
  transport: 'websocket',
  serviceTier: 'default',
  stored: true,
};
const DISPATCH: Dispatch = { purpose: 'answer', engine: 'e', route: 'm', prompt: 100, read: 100, image: 0 };
const END: TurnEnd = {
  outcome: 'completed',
  reason: null,
  usage: { cached: 40, cacheWrite: 0, reasoning: 3 },
  stages: {},
};

function metered(
  limit?: number,
  turn: Partial<MeteredTurn> = {},
  budget: Partial<Budget> = {},
  options: Partial<MeterOptions> = {},
) {
  const written: JournalEntry[] = [];
  const holds = new FakeHolds(limit ?? 0);
  const failing = { admit: false };
  const meter = new Meter({
    journal: {
      isFull: false,
      admit: (entry) => {
        if (failing.admit) throw new Error('full');
        return written.push({ kind: 'admit', ...entry });
      },
      progress: (entry) => written.push({ kind: 'progress', ...entry }) > 0,
      settle: (record) => {
        const complete: UsageRecord = { ...record, journal: 'j', settleSequence: written.length + 1 };
        written.push({ kind: 'settle', record: complete });
        return complete;
      },
    },
    prices: PRICES,
    progressTokens: 50,
    holdOutputTokens: 64,
    ...(limit === undefined ? {} : { holds, budgets: { budgetsOf: () => [{ ...BUDGET, ...budget }] } }),
    ...options,
  });
  return { meter, turn: meter.begin({ ...TURN, ...turn }), written, holds, failing };
}

const WORST = { purpose: 'answer', prompt: 100, image: 0, room: 10_000, maxOutput: undefined } as const;

describe('a turn', () => {
  it('is written down before its engine is called, on the way, and at its end', () => {
    const { turn, written, meter } = metered();
    expect(turn.hold(WORST)).toBeUndefined();
    expect(turn.dispatch(DISPATCH)).toBeUndefined();
    expect(written).toMatchObject([{ kind: 'admit', admission: { id: 'r', tenant: 't', engine: 'e' } }]);
    turn.requested();
    for (let n = 0; n < 12; n++) expect(turn.take(10)).toBeUndefined();
    turn.finished();
    const record = turn.settle(END);
    expect(written.map(({ kind }) => kind)).toEqual(['admit', 'progress', 'progress', 'settle']);
    expect(record).toMatchObject({
      parts: [
        { purpose: 'answer', prompt: 100, tokens: { input: 100, cached: 40, output: 120, reasoning: 3 } },
      ],
      amount: 1_300,
      rule: 'billed',
      priceVersion: 'v',
      partial: false,
      progressRecords: 2,
      admitSequence: 1,
    });
    expect(turn.settle(END)).toBeUndefined();
    expect(meter.held).toEqual([]);
  });

  it('that its engine did not end by itself is partial', () => {
    const { turn } = metered();
    void turn.dispatch(DISPATCH);
    turn.requested();
    void turn.take(3);
    expect(turn.settle({ ...END, outcome: 'cancelled' })).toMatchObject({ partial: true, amount: 130 });
  });

  it('that used nothing leaves no record', () => {
    const { turn, written } = metered();
    expect(turn.settle({ ...END, outcome: 'failed' })).toBeUndefined();
    expect(written).toEqual([]);
  });

  it('is not begun when it cannot be written down', () => {
    const { turn, failing, written } = metered();
    failing.admit = true;
    expect(() => turn.dispatch(DISPATCH)).toThrow('full');
    expect([turn.isDispatched, turn.settle({ ...END, outcome: 'failed' }), written]).toEqual([
      false,
      undefined,
      [],
    ]);
  });

  it('keeps apart what a summary used, and what a further request read', () => {
    const { turn, written } = metered();
    void turn.dispatch({ ...DISPATCH, purpose: 'compaction', prompt: 500, read: 500 });
    void turn.take(20);
    turn.compacted({ cached: 499, cacheWrite: 0 });
    void turn.dispatch({ ...DISPATCH, prompt: 60, read: 60 });
    void turn.take(5);
    void turn.dispatch({ ...DISPATCH, prompt: 90, read: 25 });
    void turn.take(6);
    expect(written.map(({ kind }) => kind)).toEqual(['admit', 'progress', 'progress']);
    expect(turn.settle({ ...END, usage: { ...END.usage, cached: 539 } })?.parts).toMatchObject([
      { purpose: 'compaction', prompt: 500, tokens: { input: 500, cached: 499, output: 20 } },
      { purpose: 'answer', prompt: 90, tokens: { input: 85, cached: 40, output: 11 } },
    ]);
  });

  it('that another engine takes over has only what that one did, beside what was before', () => {
    const { turn } = metered();
    void turn.dispatch({ ...DISPATCH, image: 7 });
    void turn.take(5);
    void turn.dispatch({ ...DISPATCH, engine: 'down', prompt: 900, read: 30, image: 2 });
    turn.requested();
    turn.counted(800);
    void turn.take(60);
    turn.failedOver();
    void turn.dispatch({ ...DISPATCH, engine: 'up', prompt: 140, read: 35, image: 3 });
    turn.requested();
    void turn.take(6);
    turn.finished();
    expect(turn.settle({ ...END, usage: {} })).toMatchObject({
      engine: 'up',
      partial: false,
      parts: [{ prompt: 140, tokens: { input: 135, output: 11, image: 10 } }],
    });
  });

  it('whose prompts the engine counts itself has its counts, zero among them', () => {
    const { turn } = metered();
    void turn.dispatch({ ...DISPATCH, purpose: 'compaction', prompt: 500, read: 500 });
    turn.counted(300);
    void turn.take(20);
    void turn.dispatch({ ...DISPATCH, prompt: 60, read: 60 });
    turn.counted(0);
    turn.counted(70);
    void turn.dispatch({ ...DISPATCH, prompt: 90, read: 25 });
    turn.counted(80);
    const record = turn.settle({ ...END, usage: { ...END.usage, cached: 0 } });
    // Of a further prompt only what is new in it is counted: by us.
    expect(record?.parts).toMatchObject([
      { purpose: 'compaction', prompt: 300, tokens: { input: 300, output: 20 } },
      { purpose: 'answer', prompt: 80, tokens: { input: 95, output: 0 } },
    ]);
    const none = metered().turn;
    void none.dispatch(DISPATCH);
    none.counted(0);
    expect(none.settle({ ...END, usage: { input: 0 } })).toMatchObject({
      amount: 0,
      parts: [{ prompt: 0, tokens: { input: 0 } }],
    });
  });

  it('a warm-up is a record without an engine', () => {
    const { turn } = metered();
    turn.warmedUp(100, 0, { engine: 'e', route: 'm' });
    expect(turn.isDispatched).toBe(false);
    expect(turn.settle(END)).toMatchObject({ amount: 0, rule: 'billed', parts: [{ purpose: 'warm_up' }] });
  });

  it('an engine that says more was cached than was read is cut to what is possible', () => {
    const { turn } = metered();
    void turn.dispatch(DISPATCH);
    const record = turn.settle({ ...END, usage: { cached: 900, cacheWrite: 0, reasoning: 0 } });
    expect(record).toMatchObject({ clamped: true, parts: [{ tokens: { cached: 100 } }] });
  });
});

describe('what a turn costs', () => {
  it('is what its model costs, by whichever name it was asked for', () => {
    const { turn, written } = metered(
      undefined,
      { model: 'alias' },
      {},
      { modelOf: (name) => (name === 'alias' ? 'm' : name) },
    );
    void turn.dispatch(DISPATCH);
    void turn.take(3);
    expect(turn.settle(END)).toMatchObject({ model: 'm', rule: 'billed', amount: 130 });
    expect(written[0]).toMatchObject({ admission: { model: 'm' } });
  });

  it('is written down also where the price comes to more than there is, and can be rated later', async () => {
    const prices = PriceBook.parse(
      'versions: [{ version: typo, from: "2026-01-01", models: { m: { input: 999999999999, output: 1 } } }]',
    );
    const { turn } = metered(undefined, {}, {}, { prices });
    void turn.dispatch(DISPATCH);
    expect(turn.settle(END)).toMatchObject({ rule: 'unpriced', priceVersion: 'typo', amount: 0 });
    const held = metered(1_000_000, {}, {}, { prices });
    await expect(held.turn.hold(WORST)).rejects.toThrow(BudgetExceeded);
  });

  it('says that an engine was not believed', () => {
    const { turn } = metered();
    void turn.dispatch(DISPATCH);
    turn.clamped();
    expect(turn.settle(END)).toMatchObject({ clamped: true });
  });
});

describe('a turn with a budget', () => {
  it('holds the worst case at the dearest price, whatever is cached', async () => {
    const { turn, holds } = metered(10_000);
    await turn.hold({ ...WORST, maxOutput: 30 });
    expect([holds.held, turn.isHeld]).toEqual([100 * 2 + 30 * 10, true]);
    await turn.dispatch(DISPATCH);
    expect(turn.take(30)).toBeUndefined();
    expect(turn.isExhausted).toBe(false);
    turn.settle(END);
    expect(holds.ended).toEqual(['settle r 400']);
    expect(holds.asked).toBe(1);
  });

  it('that is not left does not begin, and nothing of it stays', async () => {
    const { turn, holds } = metered(499);
    await expect(turn.hold({ ...WORST, maxOutput: 30 })).rejects.toThrow(BudgetExceeded);
    expect([turn.settle({ ...END, outcome: 'failed' }), holds.held, holds.ended]).toEqual([undefined, 0, []]);
  });

  it('is released when it never reached an engine', async () => {
    const { turn, holds } = metered(10_000);
    await turn.hold(WORST);
    turn.settle({ ...END, outcome: 'cancelled' });
    expect(holds.ended).toEqual(['release r']);
  });

  it('without a limit of its own begins with a slice, and holds more before that is used', async () => {
    const { turn, holds } = metered(100_000);
    await turn.hold(WORST);
    expect(holds.held).toBe(200 + 640);
    await turn.dispatch(DISPATCH);
    for (let n = 0; n < 100; n++) {
      const wait = turn.take(7);
      expect(wait === undefined || wait instanceof Promise).toBe(true);
      await wait;
      await Promise.resolve();
      // What is held is never less than what it has come to.
      expect(holds.held).toBeGreaterThanOrEqual(100 + 7 * (n + 1) * 10 - 70);
    }
    expect(turn.isExhausted).toBe(false);
    expect(holds.asked).toBeLessThan(25);
  });

  it('ends when the budget does, having used it', async () => {
    const { turn, holds } = metered(3_000);
    await turn.hold(WORST);
    await turn.dispatch(DISPATCH);
    let taken = 0;
    while (!turn.isExhausted) {
      await turn.take(4);
      taken += 4;
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(holds.held).toBeLessThanOrEqual(3_000);
    expect(taken * 10 + 200).toBeLessThanOrEqual(3_000 + 40);
    expect(taken * 10 + 200).toBeGreaterThan(3_000 - 16 * 10 * 2);
    expect(turn.settle({ ...END, outcome: 'incomplete' })?.amount).toBe(100 + taken * 10);
  });

  it('of little begins with little', async () => {
    const { turn, holds } = metered(400);
    await turn.hold(WORST);
    expect(holds.held).toBe(200 + 160);
  });

  it('cannot pay for what has no price', async () => {
    const { turn } = metered(10_000, { model: 'other' });
    await expect(turn.hold(WORST)).rejects.toThrow('no price');
    const shadow = metered(10_000, { model: 'other' }, { shadow: true });
    await shadow.turn.hold(WORST);
  });

  it('holds more for a further prompt, or ends there', async () => {
    const { turn, holds } = metered(1_200);
    await turn.hold({ ...WORST, maxOutput: 30 });
    await turn.dispatch(DISPATCH);
    await turn.take(20);
    await turn.dispatch({ ...DISPATCH, prompt: 200, read: 100 });
    expect(holds.held).toBeGreaterThan(500);
    const more = turn.dispatch({ ...DISPATCH, prompt: 900, read: 700 });
    await expect(more).rejects.toThrow(BudgetExceeded);
  });

  it('with a limit of its own never comes to more than is held, whatever it reads on the way and however little there is', async () => {
    const step = fc.record({
      purpose: fc.constantFrom('answer' as const, 'compaction' as const),
      read: fc.nat(300),
      written: fc.nat(200),
    });
    await fc.assert(
      fc.asyncProperty(fc.nat(6_000), fc.nat(400), fc.array(step), async (limit, maxOutput, steps) => {
        const { turn, holds } = metered(limit + 200 + maxOutput * 10);
        await turn.hold({ ...WORST, maxOutput });
        let prompt = 100;
        let left = maxOutput;
        for (const { purpose, read, written } of [{ ...DISPATCH, written: 3 }, ...steps]) {
          prompt += read;
          try {
            await turn.dispatch({ ...DISPATCH, purpose, prompt, read });
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(BudgetExceeded);
            break;
          }
          for (let n = 0; n < written && !turn.isExhausted && (purpose !== 'answer' || left > 0); n++) {
            await turn.take(1);
            if (purpose === 'answer') left--;
          }
          if (turn.isExhausted) break;
        }
        const { amount } = turn.settle({ ...END, usage: {} }) ?? { amount: 0 };
        expect(amount).toBeLessThanOrEqual(holds.held);
      }),
    );
  });

  it('is not asked for anything where what is held was for all of it', async () => {
    const { turn, holds } = metered(10_000);
    await turn.hold({ ...WORST, maxOutput: 200 });
    await turn.dispatch(DISPATCH);
    await turn.take(10);
    // Of the dearest price of what was read, more is left than what is read now.
    expect(turn.dispatch({ ...DISPATCH, prompt: 110, read: 0 })).toBeUndefined();
    expect(holds.asked).toBe(1);
    // All that may still be written is held at once.
    await turn.dispatch({ ...DISPATCH, prompt: 910, read: 800 });
    expect([holds.asked, holds.held]).toEqual([2, 900 * 2 + 200 * 10]);
    await turn.take(190);
    expect([holds.asked, turn.isExhausted]).toEqual([2, false]);
  });
});
