export { registry } from './registry.js';
export { stateGauges, type GaugesOf } from './state-gauges.js';
export { MetricsServer } from './metrics-server.js';
export { log, shownError, type ShownError } from './log.js';
