import { Ledger, moneyStory, type MoneyStory } from '@turnpike/ledger';
import type { UsageRecord } from '@turnpike/metering';
import { openDatabase } from '@turnpike/storage';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A story of a response that has been booked. */
export type BookedStory = MoneyStory & { readonly record: UsageRecord };

/** What gateways that run in one folder have written down: their ledger in SQLite, and their journals. */
export class Books {
  constructor(private readonly folder: string) {}

  async read<T>(task: (ledger: Ledger) => Promise<T>): Promise<T> {
    const path = join(this.folder, 'data/turnpike.db');
    const db = await openDatabase({ kind: 'sqlite', path }, () => undefined);
    try {
      return await task(await Ledger.open(db, 'sqlite'));
    } finally {
      await db.destroy();
    }
  }

  /** The money of a response, once it is booked. */
  story(id: string): Promise<BookedStory> {
    return this.read(async ({ db }) => {
      for (;;) {
        const { record, ...story } = await moneyStory(db, id);
        if (record !== undefined) return { ...story, record };
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    });
  }

  /** The usage record of a response, once it is booked. */
  async booked(id: string): Promise<UsageRecord> {
    return (await this.story(id)).record;
  }

  /** Everything that is in the journals. */
  journal(): string {
    const root = join(this.folder, 'data/journal');
    return readdirSync(root, { recursive: true })
      .filter((name) => String(name).endsWith('.journal'))
      .map((name) => readFileSync(join(root, String(name)), 'utf8'))
      .join('');
  }
}
