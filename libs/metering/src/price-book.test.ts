import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { dollars, rowAmount, scaled } from './money.js';
import { PriceBook } from './price-book.js';

describe('a price book', () => {
  const book = PriceBook.parse(`
versions:
  - { version: old, from: "2026-01-01", models: { m: { input: 1, output: 2 }, gone: { input: 1, output: 1 } } }
  - { version: new, from: "2026-03-01T12:00:00+01:00", models: { m: { input: 3, output: 4 } } }
`);

  it.each([
    ['2025-12-31T23:59:59Z', undefined],
    ['2026-01-01T00:00:00Z', 'old'],
    ['2026-03-01T10:59:59Z', 'old'],
    ['2026-03-01T11:00:00Z', 'new'],
  ])('has at %s the version %s', (at, version) => {
    expect(book.ratesAt('m', Date.parse(at))?.version).toBe(version);
  });

  it('has no price for what its version leaves out', () => {
    expect(book.ratesAt('gone', Date.parse('2026-02-01'))).toBeDefined();
    expect(book.ratesAt('gone', Date.parse('2026-04-01'))).toBeUndefined();
    expect(book.ratesOf('gone', 'old')).toBeDefined();
    expect([book.hasVersion('old'), book.hasVersion('older')]).toEqual([true, false]);
    expect(book.ratesOf('gone', 'other')).toBeUndefined();
  });

  it.each([
    ['versions: []', 'versions'],
    ['versions: [{ version: a, from: "2026-01-01", models: { m: { input: -1, output: 1 } } }]', 'm.input'],
    ['versions: [{ version: a, from: "2026-01-01", models: { m: { input: 1e-9, output: 1 } } }]', 'm.input'],
    ['versions: [{ version: a, from: "2026-01-01", models: { m: { input: 1 } } }]', 'm.output'],
    ['versions: [{ version: a, from: soon, models: {} }]', 'from'],
    ['versions: [{ version: a, from: "2026-01-01", models: {}, prices: 1 }]', 'prices'],
    [
      'versions: [{ version: a, from: "2026-01-01", models: {} }, { version: a, from: "2026-01-02", models: {} }]',
      "the same 'version'",
    ],
    [
      'versions: [{ version: a, from: "2026-01-01", models: { m: { input: 1, output: 1, tiers: [{ above: 9, input: 2, output: 2 }, { above: 9, input: 3, output: 3 }] } } }]',
      'versions.0.models.m.tiers.1.above: another tier has the same',
    ],
    ['{', 'YAML'],
  ])('refuses %s', (text, field) => {
    expect(() => PriceBook.parse(text)).toThrow(field);
  });

  it('is what the example shows', () => {
    const example = new URL('../../../prices.example.yaml', import.meta.url);
    expect(PriceBook.parse(readFileSync(example, 'utf8')).ratesAt('sim', Date.now())).toBeDefined();
  });
});

it('amounts are exact', () => {
  expect(scaled('0.000000001')).toBe(1n);
  expect(scaled(1.25)).toBe(1_250_000_000n);
  for (const value of ['', '1e3', '-1', '.5', '0.0000000001', 'NaN', '1_0']) {
    expect(() => scaled(value)).toThrow(RangeError);
  }
  expect([0n, 1n, -1n, 1_500_000_000n, 12_000_000_000n].map(dollars)).toEqual([
    '0',
    '0.000000001',
    '-0.000000001',
    '1.5',
    '12',
  ]);
  expect(rowAmount(-5n)).toBe(-5);
  expect(() => rowAmount(2n ** 53n)).toThrow('out of range');
});
