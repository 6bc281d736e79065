import { registry } from '@turnpike/telemetry';
import { Gauge } from 'prom-client';

/** What waits for the database. */
export interface SpoolState {
  readonly bytes: number;
  /** From how many on nothing more is taken. */
  readonly limit: number;
  readonly responses: number;
  readonly isDown: boolean;
}

let read: (() => SpoolState) | undefined;

/** Shows the state of this gateway's spool whenever metrics are read. */
export function showSpool(source: () => SpoolState): void {
  read = source;
}

function gauge(name: string, help: string, value: (state: SpoolState) => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      if (read !== undefined) this.set(value(read()));
    },
  });
}

gauge('turnpike_store_down', '1 while the database of the store does not answer.', ({ isDown }) =>
  isDown ? 1 : 0,
);
gauge('turnpike_spool_bytes', 'Bytes of responses that wait for the database.', ({ bytes }) => bytes);
gauge(
  'turnpike_spool_limit_bytes',
  'Bytes of the spool from which on responses wait for the database again.',
  ({ limit }) => limit,
);
gauge('turnpike_spool_responses', 'Responses that wait for the database.', ({ responses }) => responses);
