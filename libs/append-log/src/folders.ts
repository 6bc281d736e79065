import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { FolderLock } from './lock.js';
import { makeFolder, segmentsIn } from './segments.js';

/** When a log was begun, and what makes it the only one. */
const NAME = /^\d{14}-[0-9a-f]{12}$/;

/** The folder of a log that belongs to this process until the lock is released. */
export interface TakenFolder {
  readonly name: string;
  readonly folder: string;
  readonly lock: FolderLock;
}

/**
 * Makes the folder of a new log.
 * @throws Error when nothing can be written below `root`
 */
export function takeNew(root: string): TakenFolder {
  makeFolder(root);
  // Who looks for logs that were left behind may find this folder before its lock is taken, and remove it.
  for (;;) {
    const name = newName();
    const folder = makeFolder(root, name);
    const lock = lockOf(folder);
    if (lock !== undefined) return { name, folder, lock };
  }
}

/**
 * Takes the folders of logs whose processes are gone, one after the other; those with nothing in them are removed. One that
 * cannot be taken over keeps no other from it.
 * @param known names that are taken by this process
 * @param take is given each of them; when it fails the folder is given back
 * @throws Error naming those that could not be taken over, behind the others
 */
export async function takeLeft(
  root: string,
  known: (name: string) => boolean,
  take: (left: TakenFolder) => Promise<void>,
): Promise<void> {
  const names = readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .filter((name) => NAME.test(name) && !known(name));
  const failures: { readonly name: string; readonly cause: unknown }[] = [];
  for (const name of names) {
    await takeOne(root, name, take).catch((cause: unknown) => failures.push({ name, cause }));
  }
  if (failures.length === 0) return;
  const each = failures.map(({ name, cause }) => `${name}: ${(cause as Error).message}`);
  throw new Error(`cannot be taken over: ${each.join('; ')}`, { cause: failures[0]?.cause });
}

async function takeOne(
  root: string,
  name: string,
  take: (left: TakenFolder) => Promise<void>,
): Promise<void> {
  const folder = join(root, name);
  const lock = lockOf(folder);
  if (lock === undefined) return;
  try {
    if (segmentsIn(folder).length > 0) return await take({ name, folder, lock });
    rmSync(folder, { recursive: true, force: true });
  } catch (thrown) {
    lock.release();
    throw thrown;
  }
  lock.release();
}

function newName(): string {
  const begun = new Date().toISOString().replaceAll(/\D/g, '').slice(0, 14);
  return `${begun}-${randomBytes(6).toString('hex')}`;
}

/** Undefined when somebody has it, or it was removed a moment ago. */
function lockOf(folder: string): FolderLock | undefined {
  try {
    return FolderLock.take(folder);
  } catch (thrown) {
    if (!existsSync(folder)) return undefined;
    throw thrown;
  }
}
