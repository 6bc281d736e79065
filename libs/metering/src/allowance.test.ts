import { expect, it } from '@jest/globals';
import { Allowance, BudgetExceeded } from './allowance.js';
import type { Budget, HoldRequest } from './holds.js';
import { PriceBook } from './price-book.js';
import type { UsagePart } from './usage-record.js';

const PRICES = PriceBook.parse(`
versions:
  - version: v
    from: "2026-01-01"
    models:
      free: { input: 0, output: 0 }
      cheap: { input: 0, output: 0, tiers: [{ above: 1000, input: 0, output: 1 }] }
      priced: { input: 0, output: 0, image: 1 }
`);
const BUDGET: Budget = {
  name: 'b',
  subject: { scope: 'tenant', tenant: 't' },
  period: 'day',
  limit: 0,
  shadow: false,
};
const PROMPT: UsagePart = {
  purpose: 'answer',
  prompt: 100,
  tokens: { input: 100, cached: 0, cacheWrite: 0, output: 0, reasoning: 0, image: 0 },
};

/** A turn of a tenant whose budget is used up, and what is asked of its holds. */
function allowanceOf(model: string) {
  const asked: HoldRequest[] = [];
  const nothing = () => Promise.resolve();
  const refuse = (request: HoldRequest) => {
    asked.push(request);
    return Promise.resolve({ kind: 'refused', budget: BUDGET } as const);
  };
  const turn = {
    id: 'r',
    tenant: 't',
    key: 'k',
    model,
    lane: null,
    transport: 'http',
    serviceTier: 'default',
    stored: true,
  } as const;
  const allowance = new Allowance(turn, Date.parse('2026-02-01'), {
    prices: PRICES,
    holdOutputTokens: 64,
    budgets: { budgetsOf: () => [BUDGET] },
    holds: { reserve: refuse, extend: refuse, settle: nothing, release: nothing, renew: nothing },
  });
  return { allowance, asked };
}

it('of a free model nothing is held, though there is nothing left to spend', () => {
  const { allowance, asked } = allowanceOf('free');
  expect(allowance.reserve(PROMPT, { room: 10_000, maxOutput: 10_000 })).toBeUndefined();
  expect([allowance.isLimited, allowance.isHeld, allowance.isUsedUp(1_000_000)]).toEqual([
    false,
    false,
    false,
  ]);
  allowance.settle(0);
  expect(asked).toEqual([]);
});

it.each(['cheap', 'priced', 'unknown'])(
  'a model that may cost something, or nobody knows, is none: %s',
  async (model) => {
    const { allowance } = allowanceOf(model);
    await expect(allowance.reserve(PROMPT, { room: 10_000, maxOutput: 10 })).rejects.toThrow(BudgetExceeded);
  },
);
