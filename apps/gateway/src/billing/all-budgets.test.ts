import { expect, it } from '@jest/globals';
import { AllBudgets } from './all-budgets.js';
import { ConfigBudgets } from './config-budgets.js';

it('budgets of the configuration and of the database count together, each for its subject', () => {
  const rest = { tenant: 't', createdAt: 0, period: 'day', shadow: true } as const;
  const stored = [
    { ...rest, id: 'bud_1', key: 'k', model: undefined, amount: 5 },
    { ...rest, id: 'bud_2', key: undefined, model: 'm', amount: 6 },
  ];
  const configured = new ConfigBudgets([{ tenant: 't', period: 'total', usd: 7, shadow: false }]);
  const all = new AllBudgets(configured, { budgetsOf: () => stored });
  expect(all.budgetsOf({ tenant: 't', key: 'k', model: 'm' })).toEqual([
    { name: 't total', subject: { scope: 'tenant', tenant: 't' }, period: 'total', limit: 7, shadow: false },
    {
      name: 'bud_1',
      subject: { scope: 'key', tenant: 't', key: 'k' },
      period: 'day',
      limit: 5,
      shadow: true,
    },
    {
      name: 'bud_2',
      subject: { scope: 'model', tenant: 't', model: 'm' },
      period: 'day',
      limit: 6,
      shadow: true,
    },
  ]);
});
