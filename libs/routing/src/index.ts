export type { Route, RouteQuery, RouterStrategy } from './router.js';
export { CatalogueRouter, type CatalogueModel, type EngineBoard, type Replica } from './catalogue-router.js';
export {
  healthAfter,
  NEW_HEALTH,
  standingOf,
  STANDINGS,
  type Health,
  type HealthEvent,
  type Standing,
} from './health.js';
export { WatchedEngine, type Outcome, type WatchedEngineOptions } from './watched-engine.js';
export { Routing, routeQueryOf, RoutingStage } from './routing.stage.js';
export { CatalogueBuilder, type NamedModel, type OfferedModel, type Place } from './catalogue.js';
export { listedModels, type ListedModel } from './model-list.js';
