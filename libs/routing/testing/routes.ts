import type { Format } from '@turnpike/formats';
import type { EngineClient } from '@turnpike/inference';
import type { Route, Standing, EngineBoard } from '../src/index.js';

/** Routing looks at no more of a format than which one it is. */
export const FORMAT = { name: 'format' } as Format;

export function engineOf(name: string): EngineClient {
  return {
    name,
    capabilities: () => Promise.reject(new Error('not asked here')),
    generate: () => {
      throw new Error('no request is expected');
    },
    close: () => Promise.resolve(),
  };
}

export function routeTo(engine: string, model = 'm'): Route {
  return { model, engineModel: model, format: FORMAT, contextTokens: 100, engine: engineOf(engine) };
}

/** A board that a test writes on. Engines that are not there are ready and have nothing to do. */
export class FakeBoard implements EngineBoard {
  readonly standings = new Map<string, Standing>();
  readonly loads = new Map<string, number>();

  standing(engine: string): Standing {
    return this.standings.get(engine) ?? 'ready';
  }

  load(engine: string): number {
    return this.loads.get(engine) ?? 0;
  }

  waitMs(): number {
    return 2_500;
  }
}
