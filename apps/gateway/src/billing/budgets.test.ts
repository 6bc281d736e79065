import { expect, it } from '@jest/globals';
import type { KeyRing } from '@turnpike/access';
import { configSchema } from '../config/schema.js';
import { Budgets } from './budgets.js';
import { ModelNames } from './model-names.js';

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
const { models, billing } = configSchema.parse({
  engines: { e: { url: 'http://127.0.0.1:1' } },
  models: { m: { engine: 'e', contextTokens: 1_000, aliases: ['n'] } },
  billing: {
    budgets: [
      { tenant: 'a', period: 'month', usd: 1.5 },
      { tenant: 'a', model: 'm', period: 'total', usd: '0.000000001', shadow: true },
      { tenant: 'a', key: 'key_2', period: 'day', usd: 2 },
      { tenant: 'b', period: 'day', usd: 3 },
    ],
  },
});
const names = new ModelNames(models);

it('are those of the configuration and of the database that a turn counts for', () => {
  const budgets = new Budgets(
    billing.budgets,
    { budgetsOf: ({ key }) => (key === 'key_1' ? [kept] : []) },
    names,
  );
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

it('for an alias are for its model', () => {
  const byAlias = { ...kept, key: undefined, model: 'n' };
  const budgets = new Budgets(
    [{ tenant: 'a', model: 'n', period: 'day', usd: 1, shadow: false }],
    { budgetsOf: ({ model }) => (model === 'n' ? [byAlias] : []) },
    names,
  );
  const subject = { scope: 'model', tenant: 'a', model: 'm' };
  expect(budgets.budgetsOf({ tenant: 'a', key: 'key_1', model: names.modelOf('n') })).toMatchObject([
    { name: 'a/n day', subject },
    { name: 'bud_1', subject },
  ]);
});
