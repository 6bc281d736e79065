export type { Route, RouterStrategy } from './router.js';
export { CatalogueRouter } from './catalogue-router.js';
export { Routing, RoutingStage } from './routing.stage.js';
