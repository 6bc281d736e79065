import { describe, expect, it, jest } from '@jest/globals';
import { Pipeline } from './pipeline.js';
import type { Artifacts, TurnStage } from './stage.js';
import { stageToken, type StageToken } from './stage-token.js';
import { TurnContext } from './turn-context.js';
import type { Turn } from './turn.js';

type Advance = (turn: Turn, previous: unknown) => unknown;

/** A stage by name; `needs` by name. */
function stage(name: string, needs: string[] = [], advance: Advance = () => name): TurnStage<unknown> {
  return {
    token: { name },
    needs: needs.map((need) => ({ name: need })),
    advance: (previous, turn) => advance(turn, previous),
  };
}

function turn(history: () => [] = () => []): TurnContext {
  const request = {} as Turn['request'];
  return new TurnContext({ id: 'resp_1', tenant: 't', request, items: [], history });
}

/** A promise that the test settles. */
function gate(): { promise: Promise<string>; open: (value: string) => void; fail: (error: unknown) => void } {
  let open: (value: string) => void = () => undefined;
  let fail: (error: unknown) => void = () => undefined;
  const promise = new Promise<string>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { promise, open, fail };
}

describe('Pipeline construction', () => {
  it('refuses two stages of one name', () => {
    expect(() => new Pipeline([stage('a')], [stage('a')])).toThrow("Two stages are named 'a'.");
  });

  it('refuses a need that is not there', () => {
    expect(() => new Pipeline([stage('a', ['b'])])).toThrow(
      "Stage 'a' needs 'b', which is not in the pipeline.",
    );
  });

  it('refuses an admission stage that needs a preparation stage', () => {
    expect(() => new Pipeline([stage('a', ['b'])], [stage('b')])).toThrow(
      "Stage 'a' needs 'b', which runs in a later group.",
    );
  });

  it('refuses a circle and names it', () => {
    const stages = [stage('start', ['a']), stage('a', ['b']), stage('b', ['c']), stage('c', ['a'])];
    expect(() => new Pipeline(stages)).toThrow('Stages need each other in a circle: a -> b -> c -> a.');
    expect(() => new Pipeline([stage('self', ['self'])])).toThrow(
      'Stages need each other in a circle: self -> self.',
    );
  });
});

describe('Pipeline.run', () => {
  it('is synchronous when all stages are, whatever their order in the list', () => {
    const seen: string[] = [];
    const note = (name: string) => (t: Turn) => {
      seen.push(name);
      t.count('items_validated', 2);
      return name;
    };
    const context = turn();
    const made = new Pipeline([
      stage('late', ['early'], note('late')),
      stage('early', [], note('early')),
    ]).run(context, undefined);
    expect(made).toEqual(
      new Map([
        ['early', 'early'],
        ['late', 'late'],
      ]),
    );
    expect(seen).toEqual(['early', 'late']);
    expect(context.work.get('items_validated')).toBe(4);
    expect([...context.timings.keys()]).toEqual(['early', 'late']);
    expect([...context.timings.values()].every((micros) => Number.isInteger(micros) && micros >= 0)).toBe(
      true,
    );
  });

  it('runs side by side what does not need each other, and each stage as soon as its needs are done', async () => {
    const [slow, quick] = [gate(), gate()];
    const started: string[] = [];
    const on = (name: string, result?: Promise<string>) => () => {
      started.push(name);
      return result ?? name;
    };
    const run = new Pipeline([
      stage('slow', [], on('slow', slow.promise)),
      stage('quick', [], on('quick', quick.promise)),
      stage('afterQuick', ['quick'], on('afterQuick')),
      stage('afterBoth', ['slow', 'quick'], on('afterBoth')),
    ]).run(turn(), undefined);
    expect(started).toEqual(['slow', 'quick']);
    quick.open('quick');
    await quick.promise;
    await Promise.resolve();
    expect(started).toEqual(['slow', 'quick', 'afterQuick']);
    slow.open('slow');
    expect([...(await run).keys()].sort()).toEqual(['afterBoth', 'afterQuick', 'quick', 'slow']);
    expect(started).toEqual(['slow', 'quick', 'afterQuick', 'afterBoth']);
  });

  it('gives each stage its own previous artifact and those it needs', () => {
    const a = stageToken<number>('a');
    const b = stageToken<number>('b');
    const stages: TurnStage<number>[] = [
      { token: a, needs: [], advance: (previous = 0) => previous + 1 },
      { token: b, needs: [a], advance: (previous = 0, t) => previous + 10 * t.artifact(a) },
    ];
    const pipeline = new Pipeline(stages);
    const first = pipeline.run(turn(), undefined) as Artifacts;
    const second = pipeline.run(turn(), first) as Artifacts;
    expect(second).toEqual(
      new Map([
        ['a', 2],
        ['b', 30],
      ]),
    );
    expect(first).toEqual(
      new Map([
        ['a', 1],
        ['b', 10],
      ]),
    );
  });

  it('takes a missing declaration for a programming error', () => {
    const hidden: StageToken<string> = { name: 'hidden' };
    const nosy = stage('nosy', [], (t) => t.artifact(hidden));
    const run = () => new Pipeline([stage('hidden'), nosy]).run(turn(), undefined);
    expect(run).toThrow("Stage 'nosy' reads the artifact of 'hidden' without declaring it in 'needs'.");
  });

  it('throws a synchronous failure at once and starts nothing after it', () => {
    const later = jest.fn();
    const context = turn();
    const refusal = new Error('refused');
    const refuse = () => {
      throw refusal;
    };
    const run = () => new Pipeline([stage('a', [], refuse), stage('b', [], later)]).run(context, undefined);
    expect(run).toThrow(refusal);
    expect(later).not.toHaveBeenCalled();
    expect(context.signal.reason).toBe(refusal);
    expect(context.timings.has('a')).toBe(true);
  });

  it('aborts the others on the first failure and throws it once they have ended, not their echoes', async () => {
    const untilAborted = (t: Turn) =>
      new Promise((_, reject) =>
        t.signal.addEventListener('abort', () => reject(new DOMException('x', 'AbortError'))),
      );
    const failing = gate();
    const run = new Pipeline([
      stage('echo', [], untilAborted),
      stage('failing', [], () => failing.promise),
      stage('never', ['echo']),
    ]).run(turn(), undefined);
    failing.fail(new Error('the cause'));
    await expect(run).rejects.toThrow('the cause');
  });

  it('throws the first in order when several fail on their own account', async () => {
    const [first, second] = [gate(), gate()];
    const run = new Pipeline([stage('a', [], () => first.promise), stage('b', [], () => second.promise)]).run(
      turn(),
      undefined,
    );
    second.fail(new Error('from b'));
    first.fail(new Error('from a'));
    await expect(run).rejects.toThrow('from a');
  });

  it('ends with the reason of an abort from outside', async () => {
    const context = turn();
    const open = gate();
    const run = new Pipeline([stage('a', [], () => open.promise), stage('b', ['a'])]).run(context, undefined);
    context.abort(new Error('client left'));
    open.open('done');
    await expect(run).rejects.toThrow('client left');
  });

  it('runs the groups one after the other over one turn, with needs across them', async () => {
    const route: StageToken<string> = { name: 'route' };
    const pipeline = new Pipeline(
      [stage('route')],
      [stage('render', ['route'], async (t) => `by ${t.artifact(route)}`)],
    );
    const context = turn();
    expect(() => pipeline.run(context, undefined, 'preparation')).toThrow(
      "stage 'route' of the admission group has not run",
    );
    const admitted = pipeline.run(context, undefined, 'admission');
    expect(admitted).toEqual(new Map([['route', 'route']]));
    expect(await pipeline.run(context, undefined, 'preparation')).toEqual(
      new Map([
        ['route', 'route'],
        ['render', 'by route'],
      ]),
    );
    expect(admitted).toEqual(new Map([['route', 'route']]));
    expect(() => pipeline.run(context, undefined)).toThrow(
      "Stage 'route' has already run in this phase of the turn.",
    );
  });

  it('folds the output into what the input made, though the client has gone', () => {
    const folds = stage('folds', [], (t, previous) => `${String(previous)} ${t.phase} ${t.history().length}`);
    const pipeline = new Pipeline([folds]);
    const context = new TurnContext({
      id: 'resp_1',
      tenant: 't',
      request: {} as Turn['request'],
      items: [{ item: { type: 'reasoning', summary: [] } }],
      history: () => [],
    });
    const prepared = pipeline.run(context, undefined) as Artifacts;
    context.abort(new Error('client left'));
    const final = pipeline.run(context.next([], 'output'), prepared);
    expect(final).toEqual(new Map([['folds', 'undefined input 0 output 1']]));
  });
});
