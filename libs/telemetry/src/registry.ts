import { collectDefaultMetrics, Registry } from 'prom-client';

/**
 * The metrics of this process. A module declares its own beside the code that counts:
 * `new Counter({ name: 'turnpike_turns_total', help, labelNames, registers: [registry] })`.
 *
 * Labels hold names of the configuration and fixed words only. Nothing that clients choose freely becomes one, nor a
 * tenant or a key: a label that grows without bound takes the memory of everyone who reads it.
 */
export const registry = new Registry();

collectDefaultMetrics({ register: registry });
