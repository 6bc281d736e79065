import { describe, expect, it } from '@jest/globals';
import { ApiError } from '@turnpike/protocol';
import fc from 'fast-check';
import { FakeBoard, routeTo } from '../testing/routes.js';
import { CatalogueRouter, type Replica, type Route } from './index.js';

const chain = (affinity: string) => ({ tenant: 't', affinity: () => affinity });
const replicas = (...engines: string[]): Replica[] =>
  engines.map((engine) => ({ route: routeTo(engine), weight: 1 }));

function routerOf(...tiers: Replica[][]) {
  const board = new FakeBoard();
  const router = new CatalogueRouter([], board);
  router.replace([{ name: 'm', tiers }]);
  const engineFor = (affinity: string) => router.resolve('m', chain(affinity)).engine.name;
  return { board, router, engineFor };
}

function errorOf(action: () => unknown): ApiError {
  try {
    action();
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
  throw new Error('nothing was thrown');
}

const CHAINS = Array.from({ length: 600 }, (_, index) => `chain ${index}`);

describe('a fixed catalogue', () => {
  const small = routeTo('e', 'small');
  const large = routeTo('e', 'large');
  const router = new CatalogueRouter([small, large]);

  it('finds the route of a model and lists the models in order', () => {
    expect(router.resolve('large', chain('a'))).toBe(large);
    expect(router.models()).toEqual(['small', 'large']);
    expect(router.isCurrent(small)).toBe(true);
  });

  it('does not take another catalogue’s route for its own', () => {
    expect(router.isCurrent(routeTo('e', 'small'))).toBe(false);
    expect(router.isCurrent(routeTo('e', 'other'))).toBe(false);
  });

  it.each([
    ['medium', "The model 'medium' does not exist."],
    ['__proto__', "The model '__proto__' does not exist."],
    ['the secret plan', "The model '(15 characters)' does not exist."],
  ])('does not know %s', (model, message) => {
    expect(errorOf(() => router.resolve(model, chain('a'))).body).toEqual({
      type: 'invalid_request_error',
      code: 'model_not_found',
      message,
      param: 'model',
    });
  });
});

describe('replicas', () => {
  it('get chains of the same beginning together, and all chains in even parts', () => {
    const { engineFor } = routerOf(replicas('a', 'b', 'c'));
    const counts = new Map<string, number>();
    for (const each of CHAINS) {
      expect(engineFor(each)).toBe(engineFor(each));
      counts.set(engineFor(each), (counts.get(engineFor(each)) ?? 0) + 1);
    }
    for (const engine of ['a', 'b', 'c']) expect(counts.get(engine)).toBeGreaterThan(150);
  });

  it('get chains by their weights', () => {
    const [a, b] = replicas('a', 'b') as [Replica, Replica];
    const { engineFor } = routerOf([a, { ...b, weight: 5 }]);
    const share = CHAINS.filter((each) => engineFor(each) === 'b').length / CHAINS.length;
    expect(share).toBeGreaterThan(0.75);
    expect(share).toBeLessThan(0.91);
  });

  it('that come or go move no chain but those that they gain or lose', () => {
    const two = routerOf(replicas('a', 'b'));
    const three = routerOf(replicas('a', 'b', 'c'));
    for (const each of CHAINS) {
      const now = three.engineFor(each);
      if (now !== 'c') expect(two.engineFor(each)).toBe(now);
    }
  });

  it('that have more than their share under way leave new chains to the next one', () => {
    const { board, engineFor } = routerOf(replicas('a', 'b'));
    const home = engineFor('x');
    const other = home === 'a' ? 'b' : 'a';
    board.loads.set(home, 4);
    expect(engineFor('x')).toBe(other);
    board.loads.set(other, 4);
    expect(engineFor('x')).toBe(home);
  });

  it('never have more than their share, rounded up, however alike the chains are', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('x', 'y'), { maxLength: 60 }), (chains) => {
        const { board, engineFor } = routerOf(replicas('a', 'b', 'c'));
        for (const each of chains) {
          const engine = engineFor(each);
          board.loads.set(engine, board.load(engine) + 1);
        }
        const most = Math.max(...['a', 'b', 'c'].map((engine) => board.load(engine)));
        expect(most).toBeLessThanOrEqual(Math.ceil((1.25 * Math.max(1, chains.length)) / 3));
      }),
    );
  });

  it('that are unwell are passed over, and the least unwell is taken where none is well', () => {
    const { board, engineFor, router } = routerOf(replicas('a', 'b'));
    board.standings.set('a', 'busy');
    expect(engineFor('x')).toBe('b');
    board.standings.set('b', 'failing');
    expect(engineFor('x')).toBe('a');
    board.standings.set('a', 'down');
    expect(engineFor('x')).toBe('b');
    board.standings.set('b', 'down');
    const error = errorOf(() => router.resolve('m', chain('x')));
    expect([error.code, error.retryAfter]).toEqual(['engine_unavailable', 3]);
  });
});

describe('a chain', () => {
  const on = (router: CatalogueRouter, affinity: string): Route => router.resolve('m', chain(affinity));

  it('stays where it is, however much there is to do', () => {
    const { board, router } = routerOf(replicas('a', 'b'));
    const route = on(router, 'x');
    board.loads.set(route.engine.name, 100);
    expect(router.isCurrent(route)).toBe(true);
  });

  it('leaves an engine that is unwell for one that is well, and no other', () => {
    const { board, router } = routerOf(replicas('a', 'b'));
    const route = on(router, 'x');
    const { name } = route.engine;
    const other = name === 'a' ? 'b' : 'a';
    for (const standing of ['busy', 'failing'] as const) {
      board.standings.set(name, standing);
      board.standings.set(other, 'ready');
      expect(router.isCurrent(route)).toBe(false);
      board.standings.set(other, 'busy');
      expect(router.isCurrent(route)).toBe(true);
    }
    board.standings.set(name, 'down');
    expect(router.isCurrent(route)).toBe(false);
  });

  it('stays through a change of the catalogue that leaves its route', () => {
    const [a, b, c] = replicas('a', 'b', 'c') as [Replica, Replica, Replica];
    const { router } = routerOf([a, b]);
    const route = on(router, 'x');
    router.replace([{ name: 'm', tiers: [[a, b, c]] }]);
    expect(router.isCurrent(route)).toBe(true);
    router.replace([{ name: 'm', tiers: [[c]] }]);
    expect(router.isCurrent(route)).toBe(false);
  });
});

describe('what stands in', () => {
  it('is tried in order while the model’s own engines are unwell, and left when they are well', () => {
    const { board, router, engineFor } = routerOf(replicas('a'), replicas('b'), replicas('c'));
    expect(engineFor('x')).toBe('a');
    board.standings.set('a', 'down');
    board.standings.set('b', 'busy');
    const third = router.resolve('m', chain('x'));
    expect(third.engine.name).toBe('c');
    expect(router.isCurrent(third)).toBe(true);
    board.standings.set('b', 'ready');
    expect(router.isCurrent(third)).toBe(false);
    const second = router.resolve('m', chain('x'));
    expect(second.engine.name).toBe('b');
    expect(router.isCurrent(second)).toBe(true);
    board.standings.set('a', 'ready');
    expect(router.isCurrent(second)).toBe(false);
  });

  it('takes over from an engine that has just failed, though nothing else is known against that', () => {
    const { board, router } = routerOf(replicas('a', 'b'), replicas('c'));
    const first = router.resolve('m', chain('x'));
    const other = first.engine.name === 'a' ? 'b' : 'a';
    expect(router.alternative(first, chain('x'))?.engine.name).toBe(other);
    board.standings.set(other, 'down');
    expect(router.alternative(first, chain('x'))?.engine.name).toBe('c');
    board.standings.set('c', 'failing');
    expect(router.alternative(first, chain('x'))).toBeUndefined();
    board.standings.set('c', 'busy');
    expect(router.alternative(first, chain('x'))?.engine.name).toBe('c');
  });
});
