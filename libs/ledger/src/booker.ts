import { parseUsageRecord, type UsageRecord } from '@turnpike/metering';
import type { DeadLetters } from './dead-letters.js';
import type { Ledger } from './ledger.js';

/** Codes of what a database will never take: data it cannot hold, and rules that are broken, those of the ledger's own triggers too. */
const PERMANENT = /^(22[0-9A-Z]{3}|23[0-9A-Z]{3}|P0001|SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE)\w*)$/;

/**
 * Books what is delivered, in one transaction. What can never be booked is kept apart with the reason, and holds up nothing
 * else; when the database is away, everything is to come again.
 */
export class Booker {
  readonly #ledger: Ledger;
  readonly #deadLetters: DeadLetters;

  constructor(ledger: Ledger, deadLetters: DeadLetters) {
    this.#ledger = ledger;
    this.#deadLetters = deadLetters;
  }

  /**
   * @param payloads records, as they came from outside of the process
   * @param job that they were in
   * @returns how many could not be booked
   * @throws Error when they are to be delivered again
   */
  async book(payloads: readonly unknown[], job: string): Promise<number> {
    const records: UsageRecord[] = [];
    let dead = 0;
    for (const payload of payloads) {
      try {
        records.push(parseUsageRecord(payload));
      } catch (thrown) {
        await this.#bury(job, payload, thrown);
        dead++;
      }
    }
    return dead + (await this.#bookRecords(records, job));
  }

  async #bookRecords(records: readonly UsageRecord[], job: string): Promise<number> {
    try {
      await this.#ledger.book(records, job);
      return 0;
    } catch (thrown) {
      if (!isPermanent(thrown)) throw thrown;
      if (records.length === 1) {
        await this.#bury(job, records[0], thrown);
        return 1;
      }
    }
    // One of them is to blame, and the others are not to wait for it.
    const half = Math.ceil(records.length / 2);
    const dead = await this.#bookRecords(records.slice(0, half), job);
    return dead + (await this.#bookRecords(records.slice(half), job));
  }

  #bury(job: string, payload: unknown, thrown: unknown): Promise<void> {
    return this.#deadLetters.add({ job, payload, reason: (thrown as Error).message });
  }
}

function isPermanent(thrown: unknown): boolean {
  if (thrown instanceof RangeError || thrown instanceof TypeError) return true;
  const { code } = Object(thrown) as { code?: unknown };
  return typeof code === 'string' && PERMANENT.test(code);
}
