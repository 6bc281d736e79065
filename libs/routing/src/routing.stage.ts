import { stageToken, type Turn, type TurnStage } from '@turnpike/turns';
import { affinityOf, type ChainBeginning } from './affinity.js';
import type { Route, RouteQuery, RouterStrategy } from './router.js';

export const Routing = stageToken<Route>('routing');

/**
 * Resolves the model once; the turns of a chain that ask for the same model reuse the route. A chain that comes back from
 * a store is given one anew, which is the same while the catalogue and the engines are as they were.
 */
export class RoutingStage implements TurnStage<Route> {
  readonly token = Routing;
  readonly needs = [];
  readonly #router: RouterStrategy;

  constructor(router: RouterStrategy) {
    this.#router = router;
  }

  advance(previous: Route | undefined, turn: Turn): Route {
    if (previous?.model === turn.request.model) {
      // A turn stays on the route that it was begun on, whatever has become of its engine since.
      if (turn.begun || this.#router.isCurrent(previous)) return previous;
    }
    turn.count('routes_resolved', 1);
    return this.#router.resolve(turn.request.model, routeQueryOf(turn));
  }
}

/** What a router is told of a turn. */
export function routeQueryOf(turn: ChainBeginning): RouteQuery {
  let affinity: string | undefined;
  return { tenant: turn.tenant, affinity: () => (affinity ??= affinityOf(turn)) };
}
