import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const read = (name: string) => readFileSync(fileURLToPath(new URL(name, import.meta.url)), 'utf8');

/** Rows of the table: an id, and the files that are said to test it. */
const rows = [...read('README.md').matchAll(/^\| ([ABC]\d\d) .*$/gm)].map(([row, id = '']) => ({
  id,
  files: [...row.matchAll(/\]\(([^)]+\.test\.ts)\)/g)].map(([, file = '']) => file),
}));

it('names no case twice', () => {
  expect(rows.length).toBeGreaterThan(40);
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
});

it.each(rows)('$id is tested where the table says', ({ id, files }) => {
  const [own] = files;
  expect(read(own ?? '')).toMatch(new RegExp(`'${id}: `));
  for (const file of files) expect(read(file).length).toBeGreaterThan(0);
});
