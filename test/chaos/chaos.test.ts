import { expect, it } from '@jest/globals';
import { runChaos } from './chaos.mjs';

it('loses nothing, bills nothing twice and leaves nothing unexplained, whatever is killed', async () => {
  const report = await runChaos({ turns: 40, seed: 7 });
  expect(report).toMatchObject({ lost: 0, double: 0, unexplained: 0, details: [] });
  expect(report.responses).toBeGreaterThanOrEqual(20);
  expect(report.exact).toBeGreaterThan(0);
  expect(report.stored).toBeGreaterThan(0);
}, 180_000);
