import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { JournalReader } from './reader.js';

const PAGE = 500;

/**
 * Response ids that are settled in journals and not acknowledged. It only reads, also what others are writing to.
 * @param root folder of the journals
 */
export async function pendingIn(root: string): Promise<ReadonlySet<string>> {
  const pending = new Set<string>();
  if (!existsSync(root)) return pending;
  for (const entry of readdirSync(root, { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const reader = new JournalReader(join(root, entry.name), {
      isRemovable: () => false,
      onRemoved: () => undefined,
    });
    for (let from = reader.position; ;) {
      const { records, end } = await reader.next(PAGE, from);
      for (const { id } of records) pending.add(id);
      if (end.segment === from.segment && end.offset === from.offset) break;
      from = end;
    }
  }
  return pending;
}
