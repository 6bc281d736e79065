import { expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { STREAM_RULES } from './stream-rules.js';

/**
 * What is tested beside this folder, with the file and what has to be in it. Codex is installed outside of `npm ci`, and
 * taken through the same loop by `npm run e2e:codex`; there is no Python here for openai-python.
 */
const ELSEWHERE: readonly [line: number, file: string, says: RegExp][] = [
  [56, '../e2e/openai-sdk.test.ts', /responses\.stream\(/],
  [56, '../e2e/openai-sdk.test.ts', /new ResponsesWS\(/],
  [56, '../e2e/clients.test.ts', /'ai-sdk\.mjs'/],
  [56, '../e2e/clients/ai-sdk.mjs', /streamText\(/],
  [56, '../e2e/clients.test.ts', /'agents\.mjs'/],
  [56, '../e2e/clients/agents.mjs', /useResponsesWebSocket/],
  [56, '../e2e/codex.mjs', /codex/],
];

const read = (name: string) => readFileSync(fileURLToPath(new URL(name, import.meta.url)), 'utf8');

it('each of the 90 lines of the checklist has a test', () => {
  const files = readdirSync(fileURLToPath(new URL('.', import.meta.url))).filter((name) =>
    name.endsWith('.test.ts'),
  );
  // A title begins with its line, in whatever quotes.
  const titled = files.flatMap((name) =>
    [...read(name).matchAll(/['"`](\d{1,2})\. /g)].map(([, line]) => Number(line)),
  );
  const generated = STREAM_RULES.map(({ line }) => line);
  const tested = new Set([...titled, ...generated]);
  const lines = Array.from({ length: 90 }, (_, index) => index + 1);
  expect(lines.filter((line) => !tested.has(line))).toEqual([]);
  expect([...tested].filter((line) => !lines.includes(line))).toEqual([]);
});

it.each(ELSEWHERE)('line %i is tested in %s as well', (_line, file, says) => {
  expect(read(file)).toMatch(says);
});
