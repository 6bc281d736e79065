import type { PriceBook } from '@turnpike/metering';
import { ConfigError } from '../config/load.js';
import type { Config } from '../config/schema.js';
import type { ModelNames } from './model-names.js';

/** @throws ConfigError for a price of an alias: nothing would ever be charged by it */
export function requirePricesOfModels(prices: PriceBook, names: ModelNames): void {
  for (const priced of prices.models) {
    const name = names.modelOf(priced);
    if (name === priced) continue;
    throw new ConfigError(
      `billing.prices: '${priced}' is an alias of the model '${name}', which is what is charged: give '${name}' the price`,
    );
  }
}

/** Models of the configuration that nothing is charged for, because the price book has no price for them. */
export function withoutPrice({ models }: Pick<Config, 'models'>, prices: PriceBook, now: number): string[] {
  return Object.keys(models).filter((name) => prices.ratesAt(name, now) === undefined);
}
