import { expect, it } from '@jest/globals';
import { PriceBook } from '@turnpike/metering';
import { configSchema } from '../config/schema.js';
import { ModelNames } from './model-names.js';
import { requirePricesOfModels, withoutPrice } from './priced-models.js';

const config = configSchema.parse({
  models: { big: { engine: 'e', aliases: ['gpt-5', 'default'] }, small: { engine: 'e' } },
});
const book = (...priced: string[]) =>
  PriceBook.parse(
    JSON.stringify({
      versions: [
        {
          version: 'a',
          from: '2026-01-01',
          models: Object.fromEntries(priced.map((name) => [name, { input: 1, output: 1 }])),
        },
      ],
    }),
  );

it('an alias has no price of its own', () => {
  const names = new ModelNames(config.models);
  requirePricesOfModels(book('big', 'offered'), names);
  expect(() => requirePricesOfModels(book('gpt-5'), names)).toThrow("'gpt-5' is an alias of the model 'big'");
});

it('a model without a price is found before anybody uses it', () => {
  expect(withoutPrice(config, book('small'), Date.parse('2026-02-01'))).toEqual(['big']);
  expect(withoutPrice(config, book('small', 'big'), Date.parse('2025-02-01'))).toEqual(['big', 'small']);
});
