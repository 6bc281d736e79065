import { stateGauges } from '@turnpike/telemetry';

/** How far what was written down is from the ledger. */
export interface BillingState {
  /** Bytes of journals that this gateway holds. */
  readonly journalBytes: number;
  /** From how many on no turn is taken. */
  readonly journalLimit: number;
  /** Why the latest delivery failed; undefined when it did not. */
  readonly failure: unknown;
}

/** Shows this gateway's state whenever metrics are read. */
export const showState = stateGauges<BillingState>({
  turnpike_journal_bytes: ['Bytes of the journals that this gateway holds.', (state) => state.journalBytes],
  turnpike_journal_limit_bytes: [
    'Bytes of journals from which on no turn is taken.',
    (state) => state.journalLimit,
  ],
  turnpike_usage_delivery_failing: [
    '1 while usage does not get from the journal to the queue or the ledger.',
    (state) => (state.failure === undefined ? 0 : 1),
  ],
});
