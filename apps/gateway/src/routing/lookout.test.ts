import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { WatchedEngine, type ListedModel } from '@turnpike/routing';
import type { ModelsAnswer } from './ask-models.js';
import { Lookout } from './lookout.js';

const MODELS: readonly ListedModel[] = [{ id: 'm' }];

/** A lookout of which each look gets the next of these answers. */
function lookout(known: boolean, ...answers: readonly ModelsAnswer[]) {
  const clock = { ms: 0 };
  const engine = new WatchedEngine(
    {
      name: 'e',
      capabilities: () => Promise.reject(new Error('not asked here')),
      generate: () => {
        throw new Error('no request is expected');
      },
      close: () => Promise.resolve(),
    },
    { now: () => clock.ms },
  );
  const listed: unknown[] = [];
  const unlisted: unknown[] = [];
  let found = 0;
  const left = [...answers];
  const lookout = new Lookout({
    url: 'http://127.0.0.1:1',
    engine: known ? engine : undefined,
    question: { ask: () => Promise.resolve(left.shift() ?? SILENT) },
    onFound: (models) => {
      found += 1;
      return models.length === 0 ? undefined : engine;
    },
    onListed: (_, models) => listed.push(models),
    onUnlisted: (answer) => unlisted.push(answer),
  });
  /** Looks once for each answer; gives the waits. */
  const lookAll = async () => {
    const waits: number[] = [];
    for (const _ of answers) waits.push(await lookout.look());
    return waits;
  };
  return { lookout, lookAll, engine, listed, unlisted, clock, found: () => found };
}

const SILENT: ModelsAnswer = { kind: 'silent', reason: 'TimeoutError' };
const LIST: ModelsAnswer = { kind: 'list', models: MODELS };
const UNREACHABLE: ModelsAnswer = { kind: 'unreachable', reason: 'ECONNREFUSED' };

describe('a place where there may be an engine', () => {
  it('is looked at again and again, more and more seldom, until one is found', async () => {
    const vain = Array.from({ length: 6 }, () => UNREACHABLE);
    const { lookAll, found, listed } = lookout(false, ...vain, { kind: 'other', status: 404 }, LIST);
    expect(await lookAll()).toEqual([2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 15_000]);
    expect([found(), listed]).toEqual([1, [MODELS]]);
  });

  it('tells of what is no list once for as long as it stays the same', async () => {
    const locked: ModelsAnswer = { kind: 'other', status: 401 };
    const { lookAll, unlisted } = lookout(true, UNREACHABLE, UNREACHABLE, locked, locked, LIST, locked);
    await lookAll();
    expect(unlisted).toEqual([UNREACHABLE, locked, locked]);
  });

  it('may have something else that lists models', async () => {
    const { lookAll, found, listed } = lookout(false, { kind: 'list', models: [] }, LIST);
    await lookAll();
    expect([found(), listed]).toEqual([2, [MODELS]]);
  });
});

describe('an engine', () => {
  it('that cannot be reached gets no requests, and is asked when its circuit lets one through', async () => {
    const { lookAll, engine } = lookout(true, UNREACHABLE);
    expect(await lookAll()).toEqual([1_010]);
    expect(engine.standing).toBe('down');
  });

  it('that is back gets requests again at once', async () => {
    const { lookAll, engine } = lookout(true, UNREACHABLE, LIST);
    await lookAll();
    expect(engine.standing).toBe('ready');
  });

  it('that has no time, or is still loading, is spared', async () => {
    const { lookAll, engine, clock } = lookout(true, { kind: 'busy', retryAfterMs: 5_000 });
    expect(await lookAll()).toEqual([2_000]);
    expect(engine.standing).toBe('busy');
    clock.ms = 5_000;
    expect(engine.standing).toBe('ready');
  });

  it('that says nothing several times is unwell; once is none', async () => {
    const silences = Array.from({ length: 5 }, () => SILENT);
    const once = lookout(true, ...silences.slice(0, 1));
    await once.lookAll();
    expect(once.engine.standing).toBe('ready');
    const often = lookout(true, ...silences);
    await often.lookAll();
    expect(often.engine.standing).toBe('failing');
  });

  it('that has no list is there all the same', async () => {
    const { lookAll, engine, listed } = lookout(true, UNREACHABLE, { kind: 'other', status: 404 });
    expect((await lookAll())[1]).toBe(15_000);
    expect([engine.standing, listed]).toEqual(['ready', []]);
  });

  it('is left alone once the server stops', async () => {
    const { lookout: stopped, engine, listed } = lookout(true, LIST);
    stopped.stop();
    await stopped.look();
    expect([listed, engine.standing]).toEqual([[], 'ready']);
  });
});

describe('an engine that a request has found to be another', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('is asked soon, once, and not before its circuit lets a request through', async () => {
    const { lookout: started, listed, engine } = lookout(true, LIST, LIST, LIST, LIST);
    await started.start();
    started.doubt();
    await jest.advanceTimersByTimeAsync(500);
    started.doubt();
    await jest.advanceTimersByTimeAsync(499);
    expect(listed).toHaveLength(1);
    await jest.advanceTimersByTimeAsync(1);
    expect(listed).toHaveLength(2);
    await jest.advanceTimersByTimeAsync(14_999);
    expect(listed).toHaveLength(2);
    await jest.advanceTimersByTimeAsync(1);
    expect(listed).toHaveLength(3);
    engine.learn({ kind: 'unreachable' });
    started.doubt();
    await jest.advanceTimersByTimeAsync(1_009);
    expect(listed).toHaveLength(3);
    await jest.advanceTimersByTimeAsync(1);
    expect(listed).toHaveLength(4);
    started.stop();
    started.doubt();
    expect(jest.getTimerCount()).toBe(0);
  });
});
