import { expect, it } from '@jest/globals';
import { invoiceCsv, type Invoice } from './invoice.js';

it.each([
  ['-1+1', "'-1+1"],
  ['=1', "'=1"],
  ['＝1', "'＝1"],
  ['-0.5', '-0.5'],
])('a key named %s is no formula in an invoice', (key, shown) => {
  const lines = [{ kind: 'usage', key }] as unknown as Invoice['lines'];
  const csv = invoiceCsv({ lines, total_nano: 0, total_usd: '0' } as unknown as Invoice);
  expect(csv.split('\n')[1]?.startsWith(`usage,${shown},`)).toBe(true);
});
