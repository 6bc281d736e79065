import type { UsageRecord } from '@turnpike/metering';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sse } from '../../libs/inference/testing/fake-engine.js';
import { delta, MessageServer, usage } from '../../libs/inference/testing/message-server.js';
import { terminal } from '../conformance/stream-rules.js';
import { connect } from '../conformance/transports.js';
import { Books } from './books.js';
import { App } from './platform.js';

/** Twice the price above a thousand tokens of prompt, nano-dollars a token: 1000, 500 from the cache, 2000 of output. */
const PRICES = `
versions:
  - version: test
    from: "2026-01-01"
    models:
      sim:
        input: 1
        cachedInput: 0.5
        cacheWrite: 1.5
        output: 2
        tiers: [{ above: 1000, input: 2, cachedInput: 1, output: 4 }]
`;
const DONE = sse('[DONE]');
const SAID = delta({ content: 'fine' }, 'stop');

let folder: string;
let server: MessageServer;
let gateway: App;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
  server = await MessageServer.start('/v1/chat/completions');
  writeFileSync(join(folder, 'prices.yaml'), PRICES);
  writeFileSync(
    join(folder, 'turnpike.yaml'),
    [
      'port: 0',
      `engines: { hosted: { url: "${server.url}", kind: chat } }`,
      'models: { sim: { engine: hosted, engineModel: m, format: chat, contextTokens: 50000, aliases: [other] } }',
      'billing: { prices: prices.yaml }',
    ].join('\n'),
  );
  gateway = await App.start('gateway', ['--config', 'turnpike.yaml'], {}, folder);
});
afterAll(async () => {
  await gateway.stop();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** One turn: what its client was told, and what was booked for it. */
async function turn(body: Record<string, unknown>, ...answers: unknown[][]) {
  server.play(...answers);
  const client = await connect('http', gateway);
  const { response } = terminal(await client.create(body));
  return { response, record: await new Books(folder).booked(response.id) };
}

const sum = ({ parts }: UsageRecord, name: 'input' | 'cached' | 'output') =>
  parts.reduce((total, { tokens }) => total + tokens[name], 0);

/** What was booked is what the client was told. */
function expectSame({ response, record }: Awaited<ReturnType<typeof turn>>): void {
  expect([sum(record, 'input'), sum(record, 'cached'), sum(record, 'output')]).toEqual([
    response.usage?.input_tokens,
    response.usage?.input_tokens_details.cached_tokens,
    response.usage?.output_tokens,
  ]);
}

describe('a server that takes messages is billed by its own counts', () => {
  it('of prompt, cache and output', async () => {
    const done = await turn({ input: 'x' }, [SAID, usage(700, 200, 11, 0), DONE]);
    expectSame(done);
    expect(done.record).toMatchObject({
      amount: 500 * 1_000 + 200 * 500 + 11 * 2_000,
      parts: [{ prompt: 700, tokens: { input: 700, cached: 200, output: 11 } }],
      clamped: false,
    });
  });

  it('which decide about the price tier', async () => {
    const done = await turn({ input: 'x' }, [SAID, usage(1_001, 0, 1, 0), DONE]);
    expectSame(done);
    expect(done.record.amount).toBe(1_001 * 2_000 + 4_000);
    // The estimate is above the tier, and the server's word is not.
    const long = await turn({ input: 'many words '.repeat(900) }, [SAID, usage(1_000, 0, 1, 0), DONE]);
    expectSame(long);
    expect(long.record.amount).toBe(1_000 * 1_000 + 2_000);
  });

  it('zero among them, and by ours where it says none', async () => {
    const zero = await turn({ input: 'x' }, [SAID, usage(0, 0, 0, 0), DONE]);
    expectSame(zero);
    expect(zero.response.usage?.total_tokens).toBe(0);
    expect(zero.record).toMatchObject({ amount: 0, rule: 'billed' });
    const silent = await turn({ input: 'x' }, [SAID, DONE]);
    expectSame(silent);
    expect(sum(silent.record, 'input')).toBeGreaterThan(5);
    const half = await turn({ input: 'x' }, [
      SAID,
      { choices: [], usage: { prompt_tokens: 'many', completion_tokens: 9 } },
      DONE,
    ]);
    expectSame(half);
    expect([sum(half.record, 'input'), sum(half.record, 'output')]).toEqual([sum(silent.record, 'input'), 9]);
  });

  it('of a request that is cut off, and of one that fails', async () => {
    const cut = await turn({ input: 'x' }, [delta({ content: 'half' }, 'length'), usage(90, 0, 7, 0), DONE]);
    expectSame(cut);
    expect(cut.record).toMatchObject({
      outcome: 'incomplete',
      parts: [{ tokens: { input: 90, output: 7 } }],
    });
    const failed = await turn({ input: 'x' }, [delta({ content: 'half' }), usage(90, 0, 7, 0)]);
    expectSame(failed);
    expect(failed.record).toMatchObject({ outcome: 'failed', parts: [{ tokens: { input: 90, output: 7 } }] });
  });

  it('of a summary, and of the answer behind it', async () => {
    const begun = await turn({ input: 'a long story '.repeat(40) }, [SAID, usage(140, 0, 1, 0), DONE]);
    const summary = [delta({ content: 'They told a story.' }, 'stop'), usage(170, 130, 6, 0), DONE];
    const asked = { previous_response_id: begun.response.id };
    const triggered = await turn({ ...asked, input: [{ type: 'compaction_trigger' }] }, summary);
    expectSame(triggered);
    expect(triggered.record.parts).toMatchObject([
      { purpose: 'compaction', prompt: 170, tokens: { input: 170, cached: 130, output: 6 } },
    ]);
    const due = await turn(
      { ...asked, input: 'go on', context_management: [{ type: 'compaction', compact_threshold: 50 }] },
      summary,
      [SAID, usage(60, 20, 2, 0), DONE],
    );
    expectSame(due);
    expect(due.record.parts).toMatchObject([
      { purpose: 'compaction', prompt: 170, tokens: { input: 170, cached: 130, output: 6 } },
      { purpose: 'answer', prompt: 60, tokens: { input: 60, cached: 20, output: 2 } },
    ]);
  });

  it('by whichever name its model is asked for', async () => {
    const { record } = await turn({ input: 'x', model: 'other' }, [SAID, usage(100, 0, 1, 0), DONE]);
    expect(record).toMatchObject({ model: 'sim', rule: 'billed', amount: 102_000 });
  });

  const said = (prompt: number, completion: number, more: object = {}) => ({
    choices: [],
    usage: { prompt_tokens: prompt, completion_tokens: completion, ...more },
  });
  it.each<[string, object, object, number[], boolean]>([
    ['more than any model reads', {}, said(9e15, 3), [50_000, 0, 3], true],
    ['more than it may write', { max_output_tokens: 20 }, said(50, 9e15), [50, 0, 20], true],
    [
      'more cached than read',
      {},
      said(50, 3, { prompt_tokens_details: { cached_tokens: 51 } }),
      [50, 50, 3],
      true,
    ],
    ['less than nothing', {}, said(-50, -3), [10, 0, 1], false],
    ['what was cached by another name', {}, said(50, 3, { prompt_cache_hit_tokens: 20 }), [50, 20, 3], false],
  ])('as far as that can be true: %s', async (_what, body, last, counts, clamped) => {
    const done = await turn({ input: 'x', ...body }, [SAID, last, DONE]);
    expectSame(done);
    const { record } = done;
    expect([sum(record, 'input'), sum(record, 'cached'), sum(record, 'output')]).toEqual(counts);
    expect(record).toMatchObject({ outcome: 'completed', rule: 'billed', clamped });
  });

  it('and no more than it was asked for where it forgets its limit, and is cut before it says anything', async () => {
    const done = await turn({ input: 'x', max_output_tokens: 16 }, [delta({ content: 'word '.repeat(400) })]);
    expectSame(done);
    expect(sum(done.record, 'output')).toBe(16);
    expect(done.record).toMatchObject({ outcome: 'incomplete', reason: 'max_output_tokens', clamped: true });
  });

  it('what is written to a cache at its own price', async () => {
    const { response, record } = await turn({ input: 'x' }, [
      SAID,
      said(50, 3, { cache_creation_input_tokens: 20 }),
      DONE,
    ]);
    expect(response.usage?.input_tokens_details).toEqual({ cached_tokens: 0, cache_write_tokens: 20 });
    expect(record.amount).toBe(30 * 1_000 + 20 * 1_500 + 3 * 2_000);
  });
});
