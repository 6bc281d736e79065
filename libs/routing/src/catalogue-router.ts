import { ApiError, quotable } from '@turnpike/protocol';
import { attraction } from './affinity.js';
import { STANDINGS, type Standing } from './health.js';
import type { Route, RouteQuery, RouterStrategy } from './router.js';

/** One of the engines that serve a model. */
export interface Replica {
  readonly route: Route;
  /** Its share of the chains beside those of the others. */
  readonly weight: number;
}

/** A model of the catalogue. */
export interface CatalogueModel {
  /** The name clients use: of each of its routes too. */
  readonly name: string;
  /** Its replicas, then those that stand in for them, in the order in which they are tried. */
  readonly tiers: readonly (readonly Replica[])[];
}

/** What is known of engines, by their names. */
export interface EngineBoard {
  standing(engine: string): Standing;
  /** Requests that are under way there. */
  load(engine: string): number;
  /** Until an engine that is down may be tried, in ms. */
  waitMs(engine: string): number;
}

/** Of engines of which nothing is known. */
const ALL_READY: EngineBoard = { standing: () => 'ready', load: () => 0, waitMs: () => 0 };

/** How much more than its share a replica may have under way before a new chain goes to the next one. */
const LOAD_FACTOR = 1.25;

/**
 * The default router: a catalogue of models, each served by one engine or by replicas, with others to stand in for them.
 *
 * A chain stays where it is as long as that engine is well: its prefix cache has the conversation. A new one goes where
 * chains of the same beginning went, unless that replica has more than its share under way.
 */
export class CatalogueRouter implements RouterStrategy {
  readonly #board: EngineBoard;
  #models: ReadonlyMap<string, CatalogueModel> = new Map();
  /** How far down the tiers of its model each route of the catalogue stands. */
  #tiers: ReadonlyMap<Route, number> = new Map();

  /** @param routes a catalogue of one route a model, until {@link replace} */
  constructor(routes: readonly Route[] = [], board: EngineBoard = ALL_READY) {
    this.#board = board;
    this.replace(routes.map((route) => ({ name: route.model, tiers: [[{ route, weight: 1 }]] })));
  }

  /** Takes another catalogue. Routes that are the same objects in it stay current. */
  replace(models: readonly CatalogueModel[]): void {
    this.#models = new Map(models.map((model) => [model.name, model]));
    this.#tiers = new Map(
      models.flatMap(({ tiers }) =>
        tiers.flatMap((tier, index) => tier.map(({ route }): [Route, number] => [route, index])),
      ),
    );
  }

  /** A replica that is ready, of the first tier that has one; else of all the one that is least unwell. */
  resolve(model: string, query: RouteQuery): Route {
    const { tiers } = this.#modelOf(model);
    for (const standing of STANDINGS) {
      if (standing === 'down') break;
      const route = this.#best(tiers, standing, query);
      if (route !== undefined) return route;
    }
    const engines = [...new Set(tiers.flat().map(({ route }) => route.engine.name))];
    const waits = engines.map((engine) => this.#board.waitMs(engine));
    throw new ApiError('engine_unavailable', {
      retryAfter: Math.ceil(Math.min(...waits) / 1000) || 1,
      // For the log: clients hear of no engine.
      cause: new Error(`no engine of the model '${quotable(model)}' can be reached: ${engines.join(', ')}`),
    });
  }

  /** A chain moves on when its engine is unwell and another is not, and back when its model's own engines are well again. */
  isCurrent(route: Route): boolean {
    const tier = this.#tiers.get(route);
    if (tier === undefined) return false;
    const standing = this.#board.standing(route.engine.name);
    if (standing === 'down') return false;
    if (standing === 'ready' && tier === 0) return true;
    const { tiers } = this.#modelOf(route.model);
    const better = standing === 'ready' ? tiers.slice(0, tier) : tiers;
    return !better.flat().some((other) => this.#board.standing(other.route.engine.name) === 'ready');
  }

  alternative({ model, engine }: Route, query: RouteQuery): Route | undefined {
    const tiers = (this.#models.get(model)?.tiers ?? []).map((tier) =>
      tier.filter(({ route }) => route.engine.name !== engine.name),
    );
    return this.#best(tiers, 'ready', query) ?? this.#best(tiers, 'busy', query);
  }

  models(): readonly string[] {
    return [...this.#models.keys()];
  }

  #modelOf(name: string): CatalogueModel {
    const model = this.#models.get(name);
    if (model !== undefined) return model;
    throw new ApiError('model_not_found', {
      param: 'model',
      message: `The model '${quotable(name)}' does not exist.`,
    });
  }

  #best(tiers: CatalogueModel['tiers'], standing: Standing, query: RouteQuery): Route | undefined {
    for (const tier of tiers) {
      const fit = tier.filter(({ route }) => this.#board.standing(route.engine.name) === standing);
      const [first, ...others] = fit;
      if (first !== undefined)
        return others.length === 0 ? first.route : this.#choose([first, ...others], query);
    }
    return undefined;
  }

  /**
   * Rendezvous hashing with bounded loads: the replica that attracts the chain most, among those that have no more than
   * their share under way. Source: Mirrokni et al., "Consistent Hashing with Bounded Loads", 2018.
   */
  #choose(replicas: readonly [Replica, ...Replica[]], query: RouteQuery): Route {
    const affinity = query.affinity();
    const rated = replicas.map((replica) => {
      const { name } = replica.route.engine;
      return { replica, load: this.#board.load(name), score: attraction(affinity, name, replica.weight) };
    });
    rated.sort((one, other) => other.score - one.score);
    const loads = rated.reduce((sum, { load }) => sum + load, 1);
    const weights = replicas.reduce((sum, { weight }) => sum + weight, 0);
    const hasRoom = ({ replica: { weight }, load }: (typeof rated)[number]) =>
      load < Math.ceil((LOAD_FACTOR * loads * weight) / weights);
    // There is always one with room: the shares together are more than there is under way.
    return (rated.find(hasRoom)?.replica ?? replicas[0]).route;
  }
}
