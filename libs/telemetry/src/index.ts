export { registry } from './registry.js';
export { MetricsServer } from './metrics-server.js';
