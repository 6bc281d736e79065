import { ApiError, quotable } from '@turnpike/protocol';
import type { Route, RouterStrategy } from './router.js';

/** The default router: a fixed catalogue, one route a model. */
export class CatalogueRouter implements RouterStrategy {
  readonly #routes: ReadonlyMap<string, Route>;

  constructor(routes: readonly Route[]) {
    this.#routes = new Map(routes.map((route) => [route.model, route]));
  }

  resolve(model: string): Route {
    const route = this.#routes.get(model);
    if (route === undefined) {
      throw new ApiError('model_not_found', {
        param: 'model',
        message: `The model '${quotable(model)}' does not exist.`,
      });
    }
    return route;
  }

  isCurrent(route: Route): boolean {
    return this.#routes.get(route.model) === route;
  }

  models(): readonly string[] {
    return [...this.#routes.keys()];
  }
}
