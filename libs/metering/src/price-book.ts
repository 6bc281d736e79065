import { parse } from 'yaml';
import { z } from 'zod';
import { scaled } from './money.js';

/** A price book that cannot be used; the message names the field. */
export class PriceBookError extends Error {
  override readonly name = 'PriceBookError';
}

/** Nano-dollars for a million tokens of each kind. */
export interface TokenRates {
  readonly input: bigint;
  readonly cachedInput: bigint;
  readonly cacheWrite: bigint;
  readonly image: bigint;
  readonly output: bigint;
}

/** What a model costs in one version of the book. Factors are times 10^9. */
export interface Rates {
  readonly version: string;
  readonly base: TokenRates;
  /** For prompts with more tokens than `above`, the highest first. */
  readonly tiers: readonly { readonly above: number; readonly rates: TokenRates }[];
  readonly serviceTiers: ReadonlyMap<string, bigint>;
  readonly warmUp: bigint;
  readonly compaction: bigint;
}

const decimal = z.union([z.string(), z.number()]).transform((value, context) => {
  try {
    return scaled(value);
  } catch (thrown) {
    context.addIssue({ code: 'custom', message: (thrown as Error).message });
    return z.NEVER;
  }
});

/** Dollars for a million tokens. What is left out of the optional ones costs what input does. */
const rates = z.strictObject({
  input: decimal,
  output: decimal,
  cachedInput: decimal.optional(),
  cacheWrite: decimal.optional(),
  image: decimal.optional(),
});

const model = rates.extend({
  tiers: z
    .array(rates.extend({ above: z.int().min(0) }))
    .default([])
    .superRefine((tiers, context) => {
      tiers.forEach(({ above }, index) => {
        if (tiers.findIndex((each) => each.above === above) < index) {
          context.addIssue({ code: 'custom', path: [index, 'above'], message: 'another tier has the same' });
        }
      });
    }),
  /** Factors by `service_tier`. */
  serviceTiers: z.record(z.string(), decimal).default({}),
  /** Factor for what a warm-up reads. No engine is called for one, so by default it is free. */
  warmUp: decimal.prefault(0),
  /** Factor for what a summary reads and writes. */
  compaction: decimal.prefault(1),
});

const version = z.strictObject({
  version: z.string().min(1).max(64),
  /** When it begins to hold: a date, or a date with a time and a zone. */
  from: z
    .union([z.iso.date(), z.iso.datetime({ offset: true })], 'must be a date, as "2026-01-31" in quotes')
    .transform((text) => Date.parse(text)),
  models: z.record(z.string(), model),
});

const book = z.strictObject({ versions: z.array(version).min(1) });

/** What models cost, and from when: versions, each of which is the whole list. */
export class PriceBook {
  /** The latest first. */
  readonly #versions: readonly {
    readonly version: string;
    readonly from: number;
    readonly models: ReadonlyMap<string, Rates>;
  }[];

  private constructor(versions: z.output<typeof book>['versions']) {
    this.#versions = versions
      .map(({ version, from, models }) => ({
        version,
        from,
        models: new Map(Object.entries(models).map(([name, each]) => [name, ratesOf(version, each)])),
      }))
      .sort((a, b) => b.from - a.from);
  }

  /**
   * @param text YAML, as in prices.example.yaml
   * @throws PriceBookError naming the field at fault
   */
  static parse(text: string): PriceBook {
    let value: unknown;
    try {
      value = parse(text);
    } catch (thrown) {
      throw new PriceBookError(`The price book is not YAML: ${(thrown as Error).message}`);
    }
    const result = book.safeParse(value);
    if (!result.success) {
      const lines = result.error.issues.map(({ path, message }) => `  ${path.join('.')}: ${message}`);
      throw new PriceBookError(`The price book is not valid:\n${lines.join('\n')}`);
    }
    const { versions } = result.data;
    for (const field of ['version', 'from'] as const) {
      if (new Set(versions.map((each) => each[field])).size < versions.length) {
        throw new PriceBookError(`The price book is not valid:\n  versions: two have the same '${field}'`);
      }
    }
    return new PriceBook(versions);
  }

  /** Models that have a price in any version. */
  get models(): ReadonlySet<string> {
    return new Set(this.#versions.flatMap(({ models }) => [...models.keys()]));
  }

  /**
   * What a model costs at a time.
   * @param at ms since the epoch
   * @returns undefined when the version that holds then has no price for it, or none holds yet
   */
  ratesAt(model: string, at: number): Rates | undefined {
    return this.#versions.find(({ from }) => from <= at)?.models.get(model);
  }

  /** Whether there is a version of that name. */
  hasVersion(version: string): boolean {
    return this.#versions.some((each) => each.version === version);
  }

  /** What a model costs in a version; undefined when there is none or it has no price for it. */
  ratesOf(model: string, version: string): Rates | undefined {
    return this.#versions.find((each) => each.version === version)?.models.get(model);
  }
}

/** What holds without a price book: the built-in model is free, and others have no price. */
export const DEFAULT_PRICES = PriceBook.parse(`
versions:
  - version: built-in
    from: "1970-01-01"
    models:
      sim: { input: 0, output: 0 }
`);

function ratesOf(version: string, given: z.output<typeof model>): Rates {
  const { tiers, serviceTiers, warmUp, compaction } = given;
  return {
    version,
    base: tokenRates(given),
    tiers: tiers
      .map((tier) => ({ above: tier.above, rates: tokenRates(tier) }))
      .sort((a, b) => b.above - a.above),
    serviceTiers: new Map(Object.entries(serviceTiers)),
    warmUp,
    compaction,
  };
}

function tokenRates({ input, output, cachedInput, cacheWrite, image }: z.output<typeof rates>): TokenRates {
  return {
    input,
    output,
    cachedInput: cachedInput ?? input,
    cacheWrite: cacheWrite ?? input,
    image: image ?? input,
  };
}
