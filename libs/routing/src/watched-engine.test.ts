import { describe, expect, it } from '@jest/globals';
import type { EngineChunk, GenerateRequest } from '@turnpike/inference';
import { ApiError } from '@turnpike/protocol';
import { engineOf } from '../testing/routes.js';
import { WatchedEngine, type Outcome, type Standing } from './index.js';

const REQUEST = {} as GenerateRequest;

/** An engine that gives these chunks, then throws this; with what is told of it. */
function watch(chunks: readonly EngineChunk[], thrown?: Error) {
  const outcomes: Outcome[] = [];
  const circuits: string[] = [];
  /** How the engine stood when it was doubted. */
  const doubts: Standing[] = [];
  const clock = { ms: 0 };
  const engine: WatchedEngine = new WatchedEngine(
    {
      ...engineOf('e'),
      async *generate() {
        yield* chunks;
        if (thrown !== undefined) throw thrown;
      },
    },
    {
      now: () => clock.ms,
      onOutcome: (outcome) => outcomes.push(outcome),
      onCircuit: (circuit) => circuits.push(circuit),
      onDoubt: () => doubts.push(engine.standing),
    },
  );
  const run = async (signal = new AbortController().signal) => {
    const got: EngineChunk[] = [];
    try {
      for await (const chunk of engine.generate(REQUEST, signal)) got.push(chunk);
    } catch (error) {
      expect(error).toBe(thrown);
    }
    return got;
  };
  return { engine, run, outcomes, circuits, doubts, clock };
}

const CHUNK: EngineChunk = { ids: [1] };

describe('a request that finds an engine not as it was known', () => {
  it.each([
    ['engine_unavailable', ['down']],
    ['engine_lacks_model', ['ready']],
    ['engine_refused', []],
    ['engine_error', []],
  ] as const)('says so once it is known how that stands: %s', async (code, expected) => {
    const { run, doubts } = watch([], new ApiError(code));
    await run();
    expect(doubts).toEqual(expected);
  });

  it('and was left by its client says nothing', async () => {
    const { run, doubts } = watch([], new ApiError('engine_unavailable'));
    await run(AbortSignal.abort());
    expect(doubts).toEqual([]);
  });
});

describe('a watched engine', () => {
  it('passes everything on', async () => {
    const { engine, run } = watch([CHUNK, { ids: [], finish: 'stop' }]);
    expect([engine.name, engine.takesImages]).toEqual(['e', false]);
    await expect(engine.capabilities()).rejects.toThrow('not asked here');
    expect(await run()).toEqual([CHUNK, { ids: [], finish: 'stop' }]);
  });

  it.each([
    ['answered', [CHUNK], undefined, 'ready'],
    ['unreachable', [], new ApiError('engine_unavailable'), 'down'],
    ['overloaded', [], new ApiError('server_is_overloaded', { retryAfter: 7 }), 'busy'],
    ['failed', [CHUNK], new ApiError('engine_error'), 'ready'],
    ['failed', [], new TypeError('of ours'), 'ready'],
    ['refused', [], new ApiError('context_length_exceeded'), 'ready'],
    ['refused', [], new ApiError('engine_lacks_model'), 'ready'],
  ] as const)('tells what became of a request: %s', async (outcome, chunks, thrown, standing) => {
    const { engine, run, outcomes } = watch(chunks, thrown);
    await run();
    expect(outcomes).toEqual([outcome]);
    expect([engine.standing, engine.load]).toEqual([standing, 0]);
  });

  it('is spared for as long as it asks', async () => {
    const { engine, run, clock } = watch([], new ApiError('server_is_overloaded', { retryAfter: 7 }));
    await run();
    clock.ms = 6_999;
    expect(engine.standing).toBe('busy');
    clock.ms = 7_000;
    expect(engine.standing).toBe('ready');
  });

  it('opens its circuit after failures in a row, and closes it with an answer', async () => {
    const failing = watch([], new ApiError('engine_error'));
    for (let request = 0; request < 5; request++) await failing.run();
    expect([failing.engine.standing, failing.engine.waitMs]).toEqual(['failing', 1000]);
    failing.clock.ms = 1_000;
    expect(failing.engine.standing).toBe('ready');
    await failing.run();
    expect([failing.circuits, failing.engine.waitMs]).toEqual([['open', 'half_open', 'open'], 2000]);
    failing.engine.learn({ kind: 'answered' });
    expect(failing.circuits.at(-1)).toBe('closed');
  });

  it('is not blamed for requests that it refuses: others would get no engine because of them', async () => {
    const { engine, run, circuits } = watch([], new ApiError('engine_refused'));
    for (let request = 0; request < 9; request++) await run();
    expect([engine.standing, circuits]).toEqual(['ready', []]);
  });

  it('that begins every answer and ends none is unwell, too', async () => {
    const { engine, run, clock } = watch([CHUNK], new ApiError('engine_error'));
    for (let request = 0; request < 5; request++) await run();
    expect([engine.standing, engine.waitMs]).toEqual(['failing', 1000]);
    clock.ms = 1_000;
    await run();
    expect([engine.standing, engine.waitMs]).toEqual(['failing', 2000]);
  });

  it('learns nothing from a client that leaves', async () => {
    const leaving = new AbortController();
    leaving.abort();
    const { run, outcomes, engine } = watch([], new ApiError('engine_error'));
    for (let request = 0; request < 9; request++) await run(leaving.signal);
    expect(outcomes).toEqual(Array(9).fill('cancelled'));
    expect(engine.standing).toBe('ready');
  });

  it('counts what is under way until its reader has left', async () => {
    const { engine, outcomes } = watch([CHUNK, CHUNK]);
    for await (const _ of engine.generate(REQUEST, new AbortController().signal)) {
      expect(engine.load).toBe(1);
      break;
    }
    expect([engine.load, outcomes]).toEqual([0, ['answered']]);
  });
});
