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

/** Decides which engine answers for a model. */
export interface RouterStrategy {
  /** @throws ApiError model_not_found */
  resolve(model: string): Route;
  /** False when a route must not be reused any more, as after a change of the catalogue. */
  isCurrent(route: Route): boolean;
  /** Every model that can be asked for, in the catalogue's order. */
  models(): readonly string[];
}
