import type { UsageRecord } from './usage-record.js';

/** A turn as it is known when its response exists. */
export interface MeteredTurn {
  /** Our response id. */
  readonly id: string;
  readonly tenant: string;
  readonly key: string;
  /** By the name that the client used; `modelOf` of the meter may know the one that it is billed by. */
  readonly model: string;
  readonly lane: string | null;
  readonly transport: UsageRecord['transport'];
  readonly serviceTier: string;
  readonly stored: boolean;
}
