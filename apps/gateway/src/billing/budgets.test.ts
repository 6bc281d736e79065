import { expect, it } from '@jest/globals';
import type { KeyRing } from '@turnpike/access';
import { configSchema } from '../config/schema.js';
import { Budgets } from './budgets.js';

type Kept = ReturnType<KeyRing['budgetsOf']>[number];

const kept: Kept = {
  id: 'bud_1',
  tenant: 'a',
  key: 'key_1',
  model: undefined,
  amount: 5,
  period: 'day',
  shadow: false,
  createdAt: 0,
};
const configured = configSchema.parse({
  billing: {
    budgets: [
      { tenant: 'a', period: 'month', usd: 1.5 },
      { tenant: 'a', model: 'm', period: 'total', usd: '0.000000001', shadow: true },
      { tenant: 'a', key: 'key_2', period: 'day', usd: 2 },
      { tenant: 'b', period: 'day', usd: 3 },
    ],
  },
}).billing.budgets;

it('are those of the configuration and of the database that a turn counts for', () => {
  const budgets = new Budgets(configured, { budgetsOf: ({ key }) => (key === 'key_1' ? [kept] : []) });
  const of = (tenant: string, key: string, model: string) =>
    budgets.budgetsOf({ tenant, key, model }).map(({ name, limit, shadow }) => [name, limit, shadow]);
  expect(of('a', 'key_1', 'm')).toEqual([
    ['a month', 1_500_000_000, false],
    ['a/m total', 1, true],
    ['bud_1', 5, false],
  ]);
  expect(of('a', 'key_2', 'other').map(([name]) => name)).toEqual(['a month', 'a/key_2 day']);
  expect(of('c', 'key_2', 'm')).toEqual([]);
  expect(budgets.budgetsOf({ tenant: 'a', key: 'key_1', model: 'x' }).at(-1)?.subject).toEqual({
    scope: 'key',
    tenant: 'a',
    key: 'key_1',
  });
});

it('of a model count what it is used for by any of its names', () => {
  const names = new Map([['alias', 'm']]);
  const ofModel = { ...kept, key: undefined, model: 'alias' };
  const source = { budgetsOf: ({ model }: { model: string }) => (model === 'alias' ? [ofModel] : []) };
  const configured = configSchema.parse({
    billing: { budgets: [{ tenant: 'a', model: 'alias', period: 'day', usd: 1 }] },
  }).billing.budgets;
  const budgets = new Budgets(configured, source, names);
  const subject = { scope: 'model', tenant: 'a', model: 'm' };
  expect(budgets.budgetsOf({ tenant: 'a', key: 'k', model: 'm' })).toMatchObject([{ subject }, { subject }]);
  expect(budgets.budgetsOf({ tenant: 'a', key: 'k', model: 'x' })).toEqual([]);
});
