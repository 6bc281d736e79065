import { Ledger, moneyStory } from '@turnpike/ledger';
import type { UsageRecord } from '@turnpike/metering';
import { openDatabase } from '@turnpike/storage';
import { join } from 'node:path';

/**
 * The usage record of a response, once it is in the ledger.
 * @param folder where the gateway was started
 */
export async function booked(folder: string, id: string): Promise<UsageRecord> {
  const db = await openDatabase({ kind: 'sqlite', path: join(folder, 'data/turnpike.db') }, () => undefined);
  try {
    const { db: read } = await Ledger.open(db, 'sqlite');
    for (;;) {
      const { record } = await moneyStory(read, id);
      if (record !== undefined) return record;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  } finally {
    await db.destroy();
  }
}
