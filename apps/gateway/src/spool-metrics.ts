import { stateGauges } from '@turnpike/telemetry';

/** What waits for the database. */
export interface SpoolState {
  readonly bytes: number;
  /** From how many on nothing more is taken. */
  readonly limit: number;
  readonly responses: number;
  readonly isDown: boolean;
}

/** Shows the state of this gateway's spool whenever metrics are read. */
export const showSpool = stateGauges<SpoolState>({
  turnpike_store_down: [
    '1 while the database of the store does not answer.',
    ({ isDown }) => (isDown ? 1 : 0),
  ],
  turnpike_spool_bytes: ['Bytes of responses that wait for the database.', ({ bytes }) => bytes],
  turnpike_spool_limit_bytes: [
    'Bytes of the spool from which on responses wait for the database again.',
    ({ limit }) => limit,
  ],
  turnpike_spool_responses: ['Responses that wait for the database.', ({ responses }) => responses],
});
