import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Format } from '@turnpike/formats';
import type { EngineClient } from '@turnpike/inference';
import { ApiError, parseRequest } from '@turnpike/protocol';
import { expectIncremental, TurnContext, type TurnItem } from '@turnpike/turns';
import { CatalogueRouter, RoutingStage, type Route, type RouterStrategy } from './index.js';

/** Routing looks at neither of them. */
const format = { name: 'format' } as Format;
const engine = { name: 'engine' } as EngineClient;

const route = (model: string): Route => ({
  model,
  engineModel: `engine/${model}`,
  format,
  contextTokens: 100,
  engine,
});

const anyChain = { tenant: 't', affinity: () => 'a' };

function errorOf(action: () => unknown): ApiError {
  try {
    action();
  } catch (thrown) {
    if (thrown instanceof ApiError) return thrown;
    throw thrown;
  }
  throw new Error('nothing was thrown');
}

describe('RoutingStage', () => {
  const old = route('small');

  /** A turn that asks for `model`, and how many look-ups it took. */
  function advance(router: RouterStrategy, model: string, previous?: Route) {
    const stage = new RoutingStage(router);
    const request = parseRequest({ model }, 'websocket');
    const context = new TurnContext({ id: 'resp_1', tenant: 't', request, items: [], history: () => [] });
    const found = stage.advance(previous, context.viewFor(stage));
    return [found, context.work.get('routes_resolved') ?? 0];
  }

  it('resolves once, and then reuses the route along the chain', () => {
    const router = new CatalogueRouter([old, route('large')]);
    expect(advance(router, 'small')).toEqual([old, 1]);
    expect(advance(router, 'small', old)).toEqual([old, 0]);
  });

  it('keeps the route of what was written, whatever has become of it', () => {
    const stage = new RoutingStage(new CatalogueRouter([]));
    const request = parseRequest({ model: 'small' }, 'websocket');
    const start = { id: 'resp_1', tenant: 't', request, items: [], history: () => [] };
    expect(stage.advance(old, new TurnContext(start, 'output').viewFor(stage))).toBe(old);
  });

  it('resolves again when another model is asked for, or the catalogue has changed', () => {
    const router = new CatalogueRouter([route('small'), route('large')]);
    expect(advance(router, 'large', old)).toEqual([router.resolve('large', anyChain), 1]);
    const [found, look] = advance(router, 'small', old);
    expect([found === old, found === router.resolve('small', anyChain), look]).toEqual([false, true, 1]);
  });

  it('refuses a model that went away', () => {
    expect(errorOf(() => advance(new CatalogueRouter([]), 'small', old)).code).toBe('model_not_found');
  });

  it('keeps the laws of a stage', () => {
    const item = fc.constantFrom('user' as const, 'assistant' as const).map((role): TurnItem => {
      return { item: { type: 'message', role, content: [] } };
    });
    return fc.assert(
      fc.asyncProperty(fc.array(fc.array(item, { maxLength: 3 }), { maxLength: 4 }), (turns) =>
        expectIncremental(new RoutingStage(new CatalogueRouter([old])), {
          turns,
          request: { model: 'small' },
        }),
      ),
      { numRuns: 30 },
    );
  });
});
