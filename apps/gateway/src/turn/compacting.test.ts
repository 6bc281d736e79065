import { describe, expect, it } from '@jest/globals';
import type { EngineChunk, EngineClient } from '@turnpike/inference';
import { PriceBook, type Budget, type Holds } from '@turnpike/metering';
import { ApiError } from '@turnpike/protocol';
import {
  ANSWER,
  BEGINNING,
  engineOf,
  meteredService,
  serviceOf,
  text,
} from '../../testing/engine-service.js';

const DOWN = new ApiError('engine_unavailable');
const compaction = ({ records }: Pick<ReturnType<typeof serviceOf>, 'records'>) =>
  records.flatMap(({ parts }) => parts.filter(({ purpose }) => purpose === 'compaction'));

describe('the bill of a summary', () => {
  it('is that of the engine that wrote it, where another one gave nothing', async () => {
    const alone = serviceOf(engineOf('b', [ANSWER]));
    await alone.compact();
    const moved = serviceOf(engineOf('a', [], DOWN), engineOf('b', [ANSWER]));
    await moved.compact();
    expect(compaction(moved)).toEqual(compaction(alone));
  });

  it('is that of the engine that ended it, where another one had begun: as its usage says', async () => {
    const [a, b] = [engineOf('a', [BEGINNING], DOWN), engineOf('b', [ANSWER])];
    const moved = serviceOf(a, b);
    const { usage } = await moved.compact();
    expect(usage).toMatchObject({
      input_tokens: b.requests[0]?.prompt.length,
      output_tokens: ANSWER.ids.length,
    });
    expect(moved.records).toMatchObject([{ engine: 'b', partial: false }]);
    expect(compaction(moved)).toMatchObject([
      { prompt: usage.input_tokens, tokens: { input: usage.input_tokens, output: usage.output_tokens } },
    ]);
  });

  it('is what the second engine came to, where both failed', async () => {
    const failing = (name: string, chunks: readonly EngineChunk[]) => engineOf(name, chunks, DOWN);
    const failed = serviceOf(failing('a', [BEGINNING, BEGINNING]), failing('b', [BEGINNING]));
    const { response } = await failed.run({
      context_management: [{ type: 'compaction', compact_threshold: 1 }],
      input: 'many words '.repeat(1_000),
    });
    expect(response).toMatchObject({ status: 'failed', usage: { output_tokens: BEGINNING.ids.length } });
    expect(failed.records).toMatchObject([{ engine: 'b' }]);
    expect(compaction(failed)).toMatchObject([
      { tokens: { input: response.usage?.input_tokens, output: BEGINNING.ids.length } },
    ]);
  });

  it('has everything that the engine had written when its budget ended', async () => {
    const late = text('what was on its way');
    let isStopped = false;
    const engine: EngineClient = {
      name: 'a',
      capabilities: () => Promise.reject(DOWN),
      async *generate(_request, signal) {
        while (!signal.aborted) yield { ids: text(' word') };
        isStopped = true;
        yield { ids: late };
        throw signal.reason;
      },
      close: () => Promise.resolve(),
    };
    const budget: Budget = {
      name: 'b',
      subject: { scope: 'tenant', tenant: 't' },
      period: 'total',
      limit: 1,
      shadow: false,
    };
    let held = 0;
    const done = () => Promise.resolve();
    // Enough for the prompt and 16 tokens, and for no more.
    const holds: Holds = {
      reserve: () => Promise.resolve({ kind: 'held' }),
      extend: () => Promise.resolve(held++ === 0 ? { kind: 'held' } : { kind: 'refused', budget }),
      settle: done,
      release: done,
      renew: done,
    };
    const service = meteredService(
      {
        holds,
        budgets: { budgetsOf: () => [budget] },
        holdOutputTokens: 16,
        prices: PriceBook.parse(
          'versions: [{ version: v, from: "2026-01-01", models: { m: { input: 1, output: 1 } } }]',
        ),
      },
      { engine },
    );
    await expect(service.compact()).rejects.toMatchObject({ code: 'insufficient_quota' });
    expect(isStopped).toBe(true);
    const [part] = compaction(service);
    expect(part?.tokens.output).toBe(16 + late.length);
  });
});
