import type { Format } from '@turnpike/formats';
import type { ImageRule } from '@turnpike/images';
import type { EngineClient } from '@turnpike/inference';
import type { CatalogueModel, Replica } from './catalogue-router.js';
import type { Route } from './router.js';

/** Where a model can be had. */
export interface Place {
  readonly engine: EngineClient;
  /** The engine's own name for the model. */
  readonly engineModel: string;
  /** Most tokens of prompt and output together that it takes there, where the engine says so. */
  readonly contextTokens?: number | undefined;
}

/** A model as the configuration describes it. */
export interface NamedModel {
  readonly name: string;
  /** Other names for it. */
  readonly aliases: readonly string[];
  readonly replicas: readonly (Place & { readonly weight: number })[];
  /** What stands in for it, in this order: a model by its name, or the same model elsewhere. */
  readonly fallbacks: readonly (string | Place)[];
  readonly format: Format;
  readonly contextTokens: number;
  /** What an image costs; undefined for a model that takes none. */
  readonly images?: ImageRule | undefined;
}

/** A model that an engine lists, of those it may be asked for by its own name. */
export interface OfferedModel extends Place {
  readonly format: Format;
  readonly contextTokens: number;
}

/** What stands between the name of an engine and that of its model where two have the same. */
const PREFIX_SEPARATOR = '/';

/** Makes the catalogue, again and again, with the same object for a route in which nothing has changed. */
export class CatalogueBuilder {
  #routes: ReadonlyMap<string, Route> = new Map();

  /**
   * @param named what the configuration names; these names are theirs
   * @param offered what engines list and the configuration does not name, in the order of the engines: of two with one name
   * the first has it, and the other gets the name of its engine in front
   */
  build(named: readonly NamedModel[], offered: readonly OfferedModel[]): CatalogueModel[] {
    const routes = new Map<string, Route>();
    const routeTo = (route: Route): Route => {
      const key = JSON.stringify([route.model, route.engine.name, route.engineModel]);
      const known = this.#routes.get(key);
      const same = known !== undefined && isSame(known, route) ? known : route;
      routes.set(key, same);
      return same;
    };
    const models = new Map<string, CatalogueModel>();
    const byName = new Map(named.map((model) => [model.name, model]));
    for (const model of named) {
      for (const name of [model.name, ...model.aliases]) {
        models.set(name, { name, tiers: tiersOf(model, byName, name, routeTo) });
      }
    }
    for (const place of offered) {
      const { engine, engineModel } = place;
      const name = models.has(engineModel) ? `${engine.name}${PREFIX_SEPARATOR}${engineModel}` : engineModel;
      if (models.has(name)) continue;
      models.set(name, { name, tiers: [[{ route: routeTo({ model: name, ...place }), weight: 1 }]] });
    }
    this.#routes = routes;
    return [...models.values()];
  }
}

function tiersOf(
  model: NamedModel,
  byName: ReadonlyMap<string, NamedModel>,
  name: string,
  routeTo: (route: Route) => Route,
): Replica[][] {
  const replica = (of: NamedModel, place: Place, weight: number): Replica => {
    const { format } = of;
    const { engine, engineModel } = place;
    const contextTokens = Math.min(of.contextTokens, place.contextTokens ?? Infinity);
    // Messages hold their images themselves.
    const images = engine.takesImages === true || format.api !== undefined ? of.images : undefined;
    return { route: routeTo({ model: name, engineModel, format, contextTokens, engine, images }), weight };
  };
  const tiers = [model.replicas.map((each) => replica(model, each, each.weight))];
  for (const fallback of model.fallbacks) {
    if (typeof fallback !== 'string') tiers.push([replica(model, fallback, 1)]);
    else {
      const other = byName.get(fallback);
      if (other !== undefined) tiers.push(other.replicas.map((each) => replica(other, each, each.weight)));
    }
  }
  return tiers;
}

function isSame(one: Route, other: Route): boolean {
  return (
    one.engine === other.engine &&
    one.format === other.format &&
    one.contextTokens === other.contextTokens &&
    one.images === other.images
  );
}
