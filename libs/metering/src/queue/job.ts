import type { UsageRecord } from '../usage-record.js';

/** Name of the queue, and of every job in it. */
export const USAGE_QUEUE = 'usage';

/** What a job holds: records of one journal, as they were written down. No word of any prompt. */
export interface UsageJob {
  readonly journal: string;
  readonly records: readonly UsageRecord[];
}

/** BullMQ refuses a colon and ids that are numbers; other brokers and file names refuse more. */
const UNSAFE = /[^A-Za-z0-9_-]/g;

/** Response ids in the data of a job, which may be one that somebody has made by hand. */
export function responsesIn(data: unknown): readonly string[] {
  const { records } = Object(data) as { records?: unknown };
  return (Array.isArray(records) ? records : []).flatMap((record: unknown) => {
    const { id } = Object(record) as { id?: unknown };
    return typeof id === 'string' ? [id] : [];
  });
}

/**
 * Id of the job for a batch: the same batch has the same one. It only saves work: what is booked once is decided by the
 * ledger.
 */
export function usageJobId({ journal, records }: UsageJob): string {
  const [first, last] = [records[0], records.at(-1)].map((record) => record?.settleSequence ?? 0);
  return `usage-${journal.replaceAll(UNSAFE, '_')}-${first}-${last}`;
}
