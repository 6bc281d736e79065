import type { Format } from '@turnpike/formats';
import type { ImageRule } from '@turnpike/images';
import type { EngineClient } from '@turnpike/inference';

/** Where a model is served and how it is spoken to. Resolved once and reused along a chain. */
export interface Route {
  /** The name clients use. */
  readonly model: string;
  /** The name the engine uses. */
  readonly engineModel: string;
  readonly format: Format;
  /** Most tokens of prompt and output together. */
  readonly contextTokens: number;
  readonly engine: EngineClient;
  /** What an image costs; undefined for a model that takes none. */
  readonly images?: ImageRule | undefined;
}

/** What is asked of a router beside the model. */
export interface RouteQuery {
  readonly tenant: string;
  /** What the prompts of the chain begin with, as a short name; reckoned when it is asked for. */
  affinity(): string;
}

/** Decides which engine answers for a model. */
export interface RouterStrategy {
  /**
   * @throws ApiError model_not_found; engine_unavailable when no engine of the model can be reached
   */
  resolve(model: string, query: RouteQuery): Route;
  /**
   * False when a chain should be given a route anew: after a change of the catalogue, or when its engine does not answer.
   * Asked in every turn, so it has to be cheap.
   */
  isCurrent(route: Route): boolean;
  /** Every model that can be asked for, in the catalogue's order. */
  models(): readonly string[];
  /**
   * Another way to the same model when this one failed before anything was sampled; undefined when there is none, and by
   * default: the response then fails.
   */
  alternative?(failed: Route, query: RouteQuery): Route | undefined;
}
