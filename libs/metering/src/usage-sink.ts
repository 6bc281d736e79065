import type { UsageRecord } from './usage-record.js';

/** Where usage records go: the ledger, or a queue in front of it. */
export interface UsageSink {
  /**
   * Resolves when they have arrived for good, or are on their way. The same records may come again.
   * @param journal that they were written down in
   * @param again whether they were delivered before, and are lost
   * @throws Error when they have not, or may not have
   */
  deliver(records: readonly UsageRecord[], journal: string, again?: boolean): Promise<void>;
  /**
   * Where the records of one delivery are by now. Without it they are where they go once they are delivered.
   * @throws Error when nobody can say
   */
  whereIs?(records: readonly UsageRecord[], journal: string): Promise<'waiting' | 'arrived' | 'lost'>;
}
