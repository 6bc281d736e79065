import { stageToken, type Turn, type TurnStage } from '@turnpike/turns';
import type { Route, RouterStrategy } from './router.js';

export const Routing = stageToken<Route>('routing');

/** Resolves the model once; the turns of a chain that ask for the same model reuse the route. */
export class RoutingStage implements TurnStage<Route> {
  readonly token = Routing;
  readonly needs = [];
  readonly #router: RouterStrategy;

  constructor(router: RouterStrategy) {
    this.#router = router;
  }

  advance(previous: Route | undefined, turn: Turn): Route {
    if (previous?.model === turn.request.model && this.#router.isCurrent(previous)) return previous;
    turn.count('routes_resolved', 1);
    return this.#router.resolve(turn.request.model);
  }
}
